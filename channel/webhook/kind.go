// Package webhook sends notices as HTTP requests: as JSON, as a message for Slack, or as an event for PagerDuty.
// docs/notices.md shows the bodies.
//
// [Config] is the statement of the configuration, and [Webhook] sends. A request is a POST with at most one attempt:
// package notice repeats it. Redirects are not followed, because a header with a token would follow them. An answer of
// 2xx is a delivery. 408, 425, 429 and 5xx are tried again, every other answer is final.
//
// The URL and the headers may be secrets, so no error contains them. They are sent over https alone, or to this
// machine.
package webhook

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/notice"
)

// Config is a webhook as the configuration states it.
type Config struct {
	// URL is where to POST, and URLFile a file that holds it; one of them is stated. With the format pagerduty both may
	// be absent.
	URL, URLFile string
	// Headers are further headers, each as "Name: value".
	Headers []string
	// Format is json, the default, slack or pagerduty.
	Format string
	// Key is the routing key of PagerDuty, and KeyFile a file that holds it.
	Key, KeyFile string
}

// The formats of a body.
const (
	JSON      = "json"
	Slack     = "slack"
	PagerDuty = "pagerduty"
)

const (
	// maxHeaders bounds the headers of a webhook.
	maxHeaders = 20
	// pagerDutyURL receives the events of PagerDuty, version 2.
	pagerDutyURL = "https://events.pagerduty.com/v2/enqueue"
)

// Kind is the row of the kind.
func Kind() kind.ChannelRow {
	return kind.ChannelRow{Key: "webhook", What: "POST each notice to a URL, such as a webhook of Slack",
		New: func() kind.Channel { return &Config{} }}
}

// Keys implements [channels.Destination].
func (c *Config) Keys() []keys.Key {
	return []keys.Key{
		keys.Text("url", &c.URL, "where to POST, as in ${SLACK_URL}; over https, or to this machine"),
		keys.Text("url_file", &c.URLFile, "a file that holds the URL, in place of url"),
		keys.Texts("headers", &c.Headers, maxHeaders, "further headers, as in \"Authorization: Bearer ${TOKEN}\""),
		keys.Text("format", &c.Format, "the body: json (the notice, by default), slack or pagerduty").Default(JSON).
			OneOf(JSON, Slack, PagerDuty),
		keys.Text("key", &c.Key, "with pagerduty, the routing key, as in ${PAGERDUTY_KEY}"),
		keys.Text("key_file", &c.KeyFile, "a file that holds the routing key, in place of key"),
	}
}

// Verify implements [channels.Destination].
func (c *Config) Verify(s *keys.Source, path string) {
	at := keys.Join(path, "url")
	switch {
	case c.URL != "" && c.URLFile != "":
		s.Fault(at, "found url and url_file, allowed is one of them", "")
	case c.URL == "" && c.URLFile == "" && c.Format != PagerDuty:
		s.Fault(at, s.Missing(at, "no URL", "a URL, or url_file"), "")
	case c.URL != "" && !secure(c.URL):
		s.Fault(at, "found a URL that is not allowed, allowed is one over https, or over http to this machine", "")
	}
	at = keys.Join(path, "key")
	stated := c.Key != "" || c.KeyFile != ""
	switch {
	case c.Key != "" && c.KeyFile != "":
		s.Fault(at, "found key and key_file, allowed is one of them", "")
	case c.Format == PagerDuty && !stated:
		s.Fault(at, s.Missing(at, "no key", "the routing key of a service of PagerDuty, or key_file"), "")
	case c.Format != PagerDuty && stated:
		s.Fault(at, "found a routing key, allowed is one with format: pagerduty", "")
	}
	for i, text := range c.Headers {
		if _, _, ok := header(text); !ok {
			s.Fault(keys.Element(keys.Join(path, "headers"), i), "found a header of another form, allowed is "+
				"\"Name: value\" on one line", "")
		}
	}
}

// secure tells whether a URL keeps its path and the headers from others.
func secure(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && config.IsLoopback(u.Hostname()))
}

// header splits a header into its name and value.
func header(text string) (name, value string, ok bool) {
	name, value, found := strings.Cut(text, ":")
	return name, strings.TrimSpace(value), found && name != "" && keys.Consists(name, "-_") &&
		!strings.ContainsAny(value, "\r\n\x00")
}

// Open implements [kind.Channel].
func (c *Config) Open(_ *kind.Host, dir string) notice.Channel {
	return &Webhook{config: *c, dir: dir, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}
