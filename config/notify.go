package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/incident"
)

// This file declares the channels of notices. A kind of channel is in a folder of its own, as a kind of fleet is.

// maxChannels bounds the channels of notices.
const maxChannels = 20

// Channel is a destination of notices.
type Channel struct {
	// Name is unique: 1 to 63 letters, digits, dots, hyphens and underscores. By default it is the key of the kind,
	// with a number from the second one on, as in "webhook-2".
	Name string
	// Only are the kinds of incidents that are told, by default all.
	Only []string
	// Retry is how long a notice that could not be delivered is tried again: 0 to 24 h, by default 1 h.
	Retry time.Duration
	// To is the kind of the channel with its parameters.
	To Destination
	// key is the key of its kind.
	key string
}

// Tells tells whether the channel gets notices of a kind of incident. Test notices go to every channel.
func (c Channel) Tells(k incident.Kind) bool {
	return len(c.Only) == 0 || slices.Contains(c.Only, string(k))
}

// ChannelKind is one kind of channel.
type ChannelKind struct {
	// Key is the key of a channel that states the kind. What describes it in the reference.
	Key, What string
	New       func() Destination
}

// Destination is a kind of channel with its parameters, as the configuration states them. It is a pointer to plain
// data, so that two configurations can be compared deeply.
type Destination interface {
	// Keys returns the declarations of its keys, bound to the fields of the statement.
	Keys() []keys.Key
	// Verify adds the faults that depend on several keys. The statement stands at path. No message may contain a
	// secret.
	Verify(s *keys.Source, path string)
}

// Listed is a [Destination] that is a command, and not a mapping: its key has the form of a command.
type Listed interface {
	Destination
	// Set sets the program and its arguments.
	Set(command []string)
}

// notifyRows declare the channels of notices.
func (c *Config) notifyRows(kinds Kinds) keys.Key {
	channel := func(x *Channel) []keys.Key { return x.rows(kinds) }
	return keys.List("notify", &c.Notify, maxChannels, channel, "the channels that are told of incidents "+
		"(docs/notices.md)").Fill(c.nameChannels).Check(c.checkChannels)
}

// rows declare one channel: what all have, and one key for each kind.
func (c *Channel) rows(kinds Kinds) []keys.Key {
	rows := []keys.Key{
		keys.Text("name", &c.Name, "its name in messages and metrics; by default the key of its kind").
			May("a name: 1 to 63 letters, digits, dots, hyphens and underscores", isFleetName),
		keys.Texts("only", &c.Only, len(incident.Rules()), "the kinds of incidents that it is told; by default all").
			Check(c.checkOnly),
		keys.Duration("retry", &c.Retry, "how long a notice that could not be delivered is tried again: 0s to 24h, by "+
			"default 1h").Default(time.Hour).Within(0, day),
	}
	for _, k := range kinds.Channels {
		rows = append(rows, c.kindRow(k))
	}
	return rows
}

// kindRow declares the key of one kind of channel.
func (c *Channel) kindRow(k ChannelKind) keys.Key {
	put := func(to Destination) {
		if c.To == nil { // a second kind is a fault of checkChannels
			c.To, c.key = to, k.Key
		}
	}
	if _, listed := k.New().(Listed); listed {
		return keys.Custom(k.Key, keys.CommandForm, k.What, func(d *keys.Decoder, n *yaml.Node, path string) {
			to, _ := k.New().(Listed)
			to.Set(decodeCommand(d, n, path))
			put(to)
		})
	}
	mine := func() []Destination {
		if c.key != k.Key {
			return nil
		}
		return []Destination{c.To}
	}
	return section(k.Key, k.What, k.New, put, mine, nil)
}

// checkOnly allows the names of incidents.
func (c *Channel) checkOnly(s *keys.Source, path string) {
	for i, name := range c.Only {
		if !slices.Contains(incident.Kinds(), name) {
			s.Fault(keys.Element(path, i), "found "+keys.Quote(name)+", allowed are "+
				strings.Join(incident.Kinds(), ", "), keys.Suggest(name, incident.Kinds()))
		}
	}
}

// nameChannels names the channels without a name by their kind, and by a number from the second of a kind on.
func (c *Config) nameChannels(*keys.Source, string) {
	taken := map[string]bool{}
	for _, x := range c.Notify {
		taken[x.Name] = true
	}
	for i := range c.Notify {
		x := &c.Notify[i]
		for n := 1; x.Name == "" && x.key != ""; n++ {
			name := x.key
			if n > 1 {
				name = fmt.Sprintf("%s-%d", x.key, n)
			}
			if !taken[name] {
				x.Name, taken[name] = name, true
			}
		}
	}
}

// checkChannels checks that each channel is of one kind and that names differ.
func (c *Config) checkChannels(s *keys.Source, path string) {
	names := unique{}
	for i := range c.Notify {
		x, path := &c.Notify[i], keys.Element(path, i)
		at := keys.Join(path, "name")
		if !s.Has(at) {
			at = path
		}
		names.check(s, x.Name, at, "another name: channel %q is stated on line %d")
		if x.To == nil {
			s.Fault(path, "found no destination, allowed is one of webhook, sns, smtp and command", "")
			continue
		}
		x.To.Verify(s, keys.Join(path, x.key))
	}
}
