package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/muster-scale/muster/config"
)

// maxQueueName is the longest name of a queue.
const maxQueueName = 80

// isQueueName tells whether a text can be the name of a queue.
func isQueueName(text string) bool {
	base := strings.TrimSuffix(text, ".fifo")
	return base != "" && len(text) <= maxQueueName && !strings.ContainsFunc(base, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// queueURL returns the URL of the queue that a person named: a URL as it is; a name as the URL that a fleet of the
// configuration has for it, or else as the embedded queue of that name.
func (g *global) queueURL(named string) (string, error) {
	switch {
	case named == "" || isURL(named):
		return named, nil
	case !isQueueName(named):
		return "", usage(
			fmt.Errorf(
				"%q is neither the name of a queue nor a URL; a name has up to 80 letters, digits, - and _, and a URL looks like "+
					"http://127.0.0.1:9324/000000000000/default",
				named,
			),
		)
	}
	c, err := g.place()
	if err != nil {
		return "", err
	}
	for _, f := range c.Fleets {
		for _, q := range f.Queues {
			if q.Name == named && q.URL != "" {
				return q.URL, nil
			}
		}
	}
	return embeddedURL(c, named), nil
}

// queueURLs is queueURL for each of several.
func (g *global) queueURLs(named []string) (urls []string, err error) {
	for _, one := range named {
		u, err := g.queueURL(one)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// embeddedURL is where the embedded queue of a name is.
func embeddedURL(c *config.Config, name string) string {
	return "http://" + c.Listen.Queue + "/000000000000/" + name
}

func isURL(text string) bool { return strings.Contains(text, "://") }

// queueName returns the name of the queue that a person named, for a command on the queues of one endpoint. The
// endpoint of a URL counts where none is named.
func queueName(named string, endpoint *string) (string, error) {
	if !isURL(named) {
		return named, nil
	}
	u, err := url.Parse(named)
	if err != nil || u.Host == "" {
		return "", usage(
			fmt.Errorf("%q is no URL of a queue; one looks like http://127.0.0.1:9324/000000000000/default", named),
		)
	}
	if endpoint != nil {
		*endpoint = cmp.Or(*endpoint, u.Scheme+"://"+u.Host)
	}
	return u.Path[strings.LastIndexByte(u.Path, '/')+1:], nil
}

// ownQueueName returns the name of an embedded queue that a person named, for a command that only works there.
func (g *global) ownQueueName(named string) (string, error) {
	endpoint := ""
	name, err := queueName(named, &endpoint)
	if err != nil || endpoint == "" {
		return name, err
	}
	c, err := g.place()
	if err != nil {
		return "", err
	}
	if endpoint != "http://"+c.Listen.Queue {
		return "", usage(fmt.Errorf("the queue is at %s, and this looks into the queues of muster up at http://%s; "+
			"name the configuration of that one with -f", endpoint, c.Listen.Queue))
	}
	return name, nil
}
