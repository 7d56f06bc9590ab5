package keys

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// This file decodes the nodes of YAML into values, strictly: a number is no text, and a text is no number.

// Decoder turns nodes of the text into values, and collects the faults of their types. Declarations with [Custom] use
// it.
type Decoder struct {
	*Source
	// lookup finds the variables in texts, as os.LookupEnv does.
	lookup func(string) (string, bool)
}

// Wrong adds the fault of a value that cannot be decoded.
func (d *Decoder) Wrong(n *yaml.Node, path, allowed, hint string) {
	d.bad[path] = true
	d.at(place{n.Line, n.Column}, path, fmt.Sprintf("found %s, allowed is %s", describe(n), allowed), hint)
}

// describe says in a message what was found: the value itself, or its kind.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag != "!!str" && len(n.Value) < 40 && !strings.Contains(n.Value, "\n"):
		return n.Value
	}
	return Quote(n.Value)
}

// Quote quotes a text for a message. It cuts a text of more than 60 characters.
func Quote(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return strconv.Quote(text)
}

// values returns the values of a mapping by their keys. It adds a fault for each key that is not allowed or is
// repeated, and is empty when n is no mapping.
func (d *Decoder) values(n *yaml.Node, path string, allowed []string) map[string]*yaml.Node {
	values := map[string]*yaml.Node{}
	d.places[path] = place{n.Line, n.Column}
	words := strings.Join(allowed, ", ")
	if n.Kind != yaml.MappingNode {
		d.Wrong(n, path, "a mapping with the keys "+words, "")
		return values
	}
	var misspelt []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := place{key.Line, key.Column}
		name := key.Value
		first, repeated := values[name]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.at(at, path, fmt.Sprintf("found %s as a key, allowed are %s", describe(key), words), "")
		case !slices.Contains(allowed, name):
			d.at(at, path, fmt.Sprintf("found the unknown key %s, allowed are %s", Quote(name), words),
				Suggest(name, allowed))
			misspelt = append(misspelt, nearest(name, allowed)) // empty for none
		case repeated:
			message := fmt.Sprintf("found the key %q again, allowed is once; its first value is on line %d", name,
				first.Line)
			d.at(at, Join(path, name), message, "")
		default:
			values[name] = value
			d.places[Join(path, name)] = place{value.Line, value.Column}
		}
	}
	for _, name := range misspelt {
		if values[name] == nil && name != "" {
			d.bad[Join(path, name)] = true // a required key that is misspelt is one fault, not two
		}
	}
	return values
}

// Each calls do with the elements of a list, at most most of them. A longer list is a fault, and do is not called.
func (d *Decoder) Each(n *yaml.Node, path string, most int, do func(n *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode {
		d.Wrong(n, path, "a list", "")
		return
	}
	if len(n.Content) > most {
		d.bad[path] = true
		message := fmt.Sprintf("found a list of %d, allowed are at most %d", len(n.Content), most)
		d.at(place{n.Line, n.Column}, path, message, "")
		return
	}
	for i, element := range n.Content {
		path := Element(path, i)
		d.places[path] = place{element.Line, element.Column}
		do(element, path)
	}
}

// Text decodes a text and replaces its variables. A number or a truth value must be quoted, because YAML changes how
// they are written: 1e3 or no.
func (d *Decoder) Text(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
			hint = fmt.Sprintf("quote it: %q", n.Value)
		}
		d.Wrong(n, path, "text", hint)
		return ""
	}
	return d.expanded(n, path)
}

// Argument decodes a text that may look like a number: it is used as it is written.
func (d *Decoder) Argument(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.Wrong(n, path, "text", "")
		return ""
	}
	return d.expanded(n, path)
}

// expanded returns the text of a node with its variables replaced.
func (d *Decoder) expanded(n *yaml.Node, path string) string {
	text, problem := expand(n.Value, d.lookup)
	if problem != "" {
		d.bad[path] = true
		d.at(place{n.Line, n.Column}, path, problem, "")
	}
	return text
}

// whole, truth and number decode a single value; ok is false after a fault. A number must be finite.
func (d *Decoder) whole(n *yaml.Node, path string) (v int, ok bool) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil {
		d.Wrong(n, path, "a whole number", "")
		return 0, false
	}
	return v, true
}

func (d *Decoder) truth(n *yaml.Node, path string) (v, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		d.Wrong(n, path, "true or false", "")
		return false, false
	}
	return strings.EqualFold(n.Value, "true"), true
}

func (d *Decoder) number(n *yaml.Node, path string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" ||
		err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		d.Wrong(n, path, "a number", "")
		return 0, false
	}
	return v, true
}

// written returns the text of a value that YAML may take for a number or an instant, with variables expanded where it
// is a string; ok is false after a fault that was told.
func (d *Decoder) written(n *yaml.Node, path string) (text string, ok bool) {
	text = n.Value
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		text = d.expanded(n, path)
	}
	return text, !d.bad[path]
}

// duration decodes a duration; only zero needs no unit.
func (d *Decoder) duration(n *yaml.Node, path string) (v time.Duration, ok bool) {
	text, ok := d.written(n, path)
	if !ok {
		return 0, false
	}
	v, err := time.ParseDuration(text)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || err != nil {
		d.Wrong(n, path, "a duration with its unit, as in 300ms, 30s, 5m or 2h", unit(n))
		return 0, false
	}
	return v, true
}

// instant decodes an instant with its zone. YAML has a type for instants, so it may be quoted or not.
func (d *Decoder) instant(n *yaml.Node, path string) (v time.Time, ok bool) {
	text, ok := d.written(n, path)
	if !ok {
		return v, false
	}
	v, err := time.Parse(time.RFC3339, text)
	if n.Kind != yaml.ScalarNode || err != nil || v.Year() < 2000 || v.Year() > 9999 {
		d.Wrong(n, path, "an instant with its zone, as in 2026-01-02T03:04:05Z", "")
		return time.Time{}, false
	}
	return v.UTC(), true
}

// unit returns the hint for a duration with a missing or wrong unit. Go has no unit for days, so they become hours.
func unit(n *yaml.Node) string {
	switch n.Tag {
	case "!!int", "!!float":
		return fmt.Sprintf("say %q for seconds", n.Value+"s")
	case "!!str":
		digits := strings.TrimRight(n.Value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
		unit := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(n.Value, digits)))
		days, err := strconv.ParseInt(digits, 10, 16)
		switch {
		case err != nil:
		case unit == "d" || unit == "day" || unit == "days":
			return fmt.Sprintf("say %q", strconv.FormatInt(24*days, 10)+"h")
		case strings.HasPrefix(unit, "sec"):
			return fmt.Sprintf("say %q", digits+"s")
		case strings.HasPrefix(unit, "min"):
			return fmt.Sprintf("say %q", digits+"m")
		case strings.HasPrefix(unit, "hour"):
			return fmt.Sprintf("say %q", digits+"h")
		}
	}
	return ""
}

// OfTemplate tells whether a value is the name of a queue as a CloudFormation template writes it: !GetAtt
// NAME.QueueName.
func OfTemplate(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!GetAtt" && strings.HasSuffix(n.Value, ".QueueName")
}
