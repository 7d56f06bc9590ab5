// Package channels declares the channels that are told of incidents, as the key notify of a configuration states them.
//
// [Channel] is one entry of the list: what all channels have, and the [Destination] of its kind. [Keys] declares the
// list for the kinds of a program. A kind is in a folder of its own, channel/webhook for example, and in one row of
// package kinds; this package names none.
//
// The package decodes and checks. It opens nothing: package kind does, and package notice delivers.
package channels

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/incident"
)

const (
	// maxChannels bounds the channels of a configuration, maxArguments the arguments of a command.
	maxChannels  = 20
	maxArguments = 256
	// maxRetry bounds the retry time of a channel.
	maxRetry = 24 * time.Hour
)

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

// Kind is one kind of channel.
type Kind struct {
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

// Keys declares the list of channels at the key notify.
func Keys(into *[]Channel, kinds []Kind) keys.Key {
	l := list{into, kinds}
	channel := func(x *Channel) []keys.Key { return x.rows(kinds) }
	return keys.List("notify", into, maxChannels, channel, "the channels that are told of incidents "+
		"(docs/notices.md)").Fill(l.name).Check(l.check)
}

// list is the list of channels with the kinds that it may state.
type list struct {
	all   *[]Channel
	kinds []Kind
}

// rows declare one channel: what all have, and one key for each kind.
func (c *Channel) rows(kinds []Kind) []keys.Key {
	rows := []keys.Key{
		keys.Text("name", &c.Name, "its name in messages and metrics; by default the key of its kind").
			May("a name: 1 to 63 letters, digits, dots, hyphens and underscores", isName),
		keys.Texts("only", &c.Only, len(incident.Rules()), "the kinds of incidents that it is told; by default all").
			Check(c.checkOnly),
		keys.Duration("retry", &c.Retry, "how long a notice that could not be delivered is tried again: 0s to 24h, by "+
			"default 1h").Default(time.Hour).Within(0, maxRetry),
	}
	for _, k := range kinds {
		rows = append(rows, c.kindRow(k))
	}
	return rows
}

// isName tells whether text can be the name of a channel, which stands in metrics.
func isName(text string) bool {
	return len(text) >= 1 && len(text) <= 63 && keys.Consists(text, "-_.") && keys.Consists(text[:1], "")
}

// kindRow declares the key of one kind of channel. A second kind in one channel is a fault of [list.check].
func (c *Channel) kindRow(k Kind) keys.Key {
	if _, listed := k.New().(Listed); listed {
		return keys.Custom(k.Key, keys.CommandForm, k.What, func(d *keys.Decoder, n *yaml.Node, path string) {
			to, _ := k.New().(Listed)
			to.Set(command(d, n, path))
			c.To, c.key = to, k.Key
		})
	}
	// there returns the keys of the statement; none when the channel is of another kind.
	there := func() []keys.Key {
		if c.key != k.Key {
			return nil
		}
		return c.To.Keys()
	}
	r := keys.Custom(k.Key, keys.MappingForm, k.What, func(d *keys.Decoder, n *yaml.Node, path string) {
		c.To, c.key = k.New(), k.Key
		d.Mapping(n, path, c.To.Keys())
	})
	return r.Of(func() []keys.Key { return k.New().Keys() }).
		Fill(func(s *keys.Source, path string) { keys.Fill(s, path, there()) }).
		Check(func(s *keys.Source, path string) { keys.Check(s, path, there()) })
}

// command decodes a program with its arguments, or the program alone.
func command(d *keys.Decoder, n *yaml.Node, path string) (argv []string) {
	if n.Kind == yaml.ScalarNode {
		return []string{d.Text(n, path)}
	}
	d.Each(n, path, maxArguments, func(n *yaml.Node, path string) { argv = append(argv, d.Argument(n, path)) })
	return argv
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

// name names the channels without a name by their kind, and by a number from the second of a kind on.
func (l list) name(*keys.Source, string) {
	taken := map[string]bool{}
	for _, x := range *l.all {
		taken[x.Name] = true
	}
	for i := range *l.all {
		x := &(*l.all)[i]
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

// check checks that each channel is of one kind and that names differ.
func (l list) check(s *keys.Source, path string) {
	lines := map[string]int{}
	for i := range *l.all {
		x, path := &(*l.all)[i], keys.Element(path, i)
		at := keys.Join(path, "name")
		if !s.Has(at) {
			at = path
		}
		if line, ok := lines[x.Name]; ok && x.Name != "" {
			s.Fault(at, fmt.Sprintf("found %s, allowed is another name: the channel on line %d has it",
				keys.Quote(x.Name), line), "")
		}
		lines[x.Name] = s.Line(at)
		var all, stated []string
		for _, k := range l.kinds {
			all = append(all, k.Key)
			if s.Has(keys.Join(path, k.Key)) {
				stated = append(stated, k.Key)
			}
		}
		if len(stated) != 1 {
			found := "no destination"
			if len(stated) > 1 {
				found = strings.Join(stated, " and ")
			}
			s.Fault(path, "found "+found+", allowed is one of "+strings.Join(all, ", "), "")
			continue
		}
		if x.To != nil {
			x.To.Verify(s, keys.Join(path, x.key))
		}
	}
}
