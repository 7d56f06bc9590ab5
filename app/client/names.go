package client

import (
	"net/url"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
)

// maxQueueName is the longest name of a queue, in bytes.
const maxQueueName = 80

// isQueueName tells whether text is a valid queue name.
func isQueueName(text string) bool {
	base := strings.TrimSuffix(text, ".fifo")
	return base != "" && len(text) <= maxQueueName && !strings.ContainsFunc(base, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// QueueURL returns the URL of the queue that a person named. A URL stays as it is. A name becomes the URL that a fleet
// of the configuration gives it, or else that of the embedded queue of this name. An empty name stays empty.
func QueueURL(place Place, named string) (string, error) {
	switch {
	case named == "" || IsURL(named):
		return named, nil
	case !isQueueName(named):
		return "", misuse.Errorf("%q is neither the name of a queue nor a URL; a name has up to 80 letters, digits, "+
			"- and _, and a URL looks like http://127.0.0.1:9324/000000000000/default", named)
	}
	c, err := place()
	if err != nil {
		return "", err
	}
	for _, f := range c.Fleets {
		for _, q := range f.Queues {
			if q.Name == named && !q.Own() {
				return q.URL, nil
			}
		}
	}
	return "http://" + c.Listen.Queue + "/000000000000/" + named, nil
}

// QueueURLs is [QueueURL] for each of several names.
func QueueURLs(place Place, named []string) (urls []string, err error) {
	for _, one := range named {
		u, err := QueueURL(place, one)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// IsURL tells whether text names a queue by a URL.
func IsURL(text string) bool { return strings.Contains(text, "://") }

// QueueName returns the name of the queue that a person named, and the endpoint if that was a URL.
func QueueName(named string) (name, endpoint string, err error) {
	if !IsURL(named) {
		return named, "", nil
	}
	u, err := url.Parse(named)
	if err != nil || u.Host == "" {
		return "", "", errNoURL(named)
	}
	return u.Path[strings.LastIndexByte(u.Path, '/')+1:], u.Scheme + "://" + u.Host, nil
}

// OwnQueueName returns the name of an embedded queue of the place, from its name or URL.
func OwnQueueName(place Place, named string) (string, error) {
	name, endpoint, err := QueueName(named)
	if err != nil || endpoint == "" {
		return name, err
	}
	c, err := place()
	if err != nil {
		return "", err
	}
	if own := "http://" + c.Listen.Queue; endpoint != own {
		return "", misuse.Errorf("the queue is at %s, and this looks into the queues of muster up at %s; "+
			"name the configuration of that one with -f", endpoint, own)
	}
	return name, nil
}

// errNoURL returns the error for a text that is not the URL of a queue.
func errNoURL(text string) error {
	return misuse.Errorf("%q is no URL of a queue; one looks like http://127.0.0.1:9324/000000000000/default", text)
}

// StatedQueues returns the names of the embedded queues in the configuration, sorted.
func StatedQueues(c *config.Config) (names []string) {
	for _, q := range c.Queues {
		names = append(names, q.Name)
		if q.DeadLetter.Queue != "" {
			names = append(names, q.DeadLetter.Queue)
		}
	}
	for _, f := range c.Fleets {
		for _, q := range f.Queues {
			if q.Own() {
				names = append(names, q.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
