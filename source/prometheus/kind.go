package prometheus

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/kind"
)

// Config measures a fleet by Prometheus queries, instead of the queue's own counts or in addition to them.
type Config struct {
	// URL is the address of the server. Token is a bearer token for it, sent only over https or on this machine; empty
	// for none.
	URL, Token string
	// Interval is the scrape interval of the queried targets: 1 s to 1 h, by default 1 min.
	Interval time.Duration
	// Queries are PromQL queries by signal.
	Queries map[kind.Quantity]string
}

// maxQuery bounds a query, in bytes.
const maxQuery = 16 << 10

// Kind is the row of the kind.
func Kind() kind.SignalRow {
	return kind.SignalRow{
		Key: "prometheus", What: "signals from Prometheus, instead of the queue's own counts or in addition to them, " +
			"by one query each",
		New:      func() kind.Signal { return &Config{} },
		Adapters: []kind.Adapter{kind.AdapterFor[*Source]("any query of Prometheus")},
	}
}

// Keys implements [config.Statement].
func (c *Config) Keys() []keys.Key {
	rows := []keys.Key{
		keys.Text("url", &c.URL, "where Prometheus is, as in https://prometheus.example.com or http://127.0.0.1:9090").
			Required().Check(checkURL),
		keys.Text("token", &c.Token, "a bearer token for it, as in ${PROMETHEUS_TOKEN}, over https; none by default").
			Check(c.checkToken),
		keys.Duration("interval", &c.Interval, "how often it scrapes what the queries name: 1s to 1h, by default 1m").
			Default(time.Minute).Within(time.Second, time.Hour),
	}
	for _, s := range []struct {
		kind.Quantity
		what string
	}{
		{kind.Backlog, "waiting messages, in PromQL, as in sum(rabbitmq_queue_messages_ready{queue=\"work\"})"},
		{kind.InFlight, "messages in progress, in PromQL"},
		{kind.Delayed, "messages that are not visible yet, in PromQL"},
		{kind.OldestAge, "the age of the oldest waiting message in seconds, in PromQL"},
		{kind.Processing, "the mean processing duration in seconds, in PromQL"},
	} {
		decode := func(d *keys.Decoder, n *yaml.Node, path string) {
			if c.Queries == nil {
				c.Queries = map[kind.Quantity]string{}
			}
			c.Queries[s.Quantity] = d.Text(n, path)
		}
		rows = append(rows, keys.Custom(string(s.Quantity), keys.TextForm, s.what,
			decode).Check(func(s *keys.Source, path string) {
			c.checkQuery(s, path)
		}))
	}
	return rows
}

func checkURL(s *keys.Source, path, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" &&
		u.Scheme != "http" {
		s.Fault(path, s.Missing(path, keys.Quote(text), "a URL, as in http://prometheus:9090; a token has a key of "+
			"its own"), "")
	}
}

// checkToken refuses a token that would be sent unencrypted.
func (c *Config) checkToken(s *keys.Source, path, token string) {
	u, err := url.Parse(c.URL)
	if token != "" && err == nil && u.Scheme == "http" && !config.IsLoopback(u.Hostname()) {
		s.Fault(path, "found a token for a server without encryption, allowed is one over https, or to this machine",
			"")
	}
}

func (c *Config) checkQuery(s *keys.Source, path string) {
	query := c.Queries[kind.Quantity(keys.Last(path))]
	if s.Has(path) && (strings.TrimSpace(query) == "" || len(query) > maxQuery) {
		s.Fault(path, fmt.Sprintf("found a query of %d bytes, allowed are 1 to %d", len(query), maxQuery), "")
	}
}

// Measures implements [config.Signal].
func (c *Config) Measures() []string { return kind.Quantities(c.Queries) }

// Check implements [config.Statement].
func (c *Config) Check(s *keys.Source, at string, f *config.Fleet) {
	if len(c.Queries) == 0 {
		s.Fault(at, "found no query, allowed are "+strings.Join(keys.Names(c.Keys())[3:], ", "), "")
	}
	if len(f.Queues) > 1 {
		s.Fault(at, fmt.Sprintf("found queries for a fleet of %d queues, allowed is one queue, or none", len(f.Queues)),
			"put the sum into a query")
	}
	if c.Queries[kind.Backlog] == "" && len(f.Queues) == 0 && !f.Policy.NeedsNoQueue() {
		s.Fault(at, "found no backlog for a fleet without a queue, allowed is one of the two", "")
	}
}

// Place implements [kind.Signal].
func (c *Config) Place() string { return "Prometheus" }

// Open implements [kind.Signal].
func (c *Config) Open(_ context.Context, _ *kind.Host, f config.Fleet, base muster.Source) (muster.Source, error) {
	return New(Options{Queue: f.Name, URL: c.URL, Token: c.Token, Interval: c.Interval, Queries: maps.Clone(c.Queries),
		Base: base})
}
