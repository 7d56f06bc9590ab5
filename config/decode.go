package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// decoder turns nodes into values and collects the faults of their types.
type decoder struct {
	*source
	lookup func(string) (string, bool)
}

// wrong adds the fault of a value that cannot be decoded.
func (d *decoder) wrong(n *yaml.Node, path, allowed, hint string) {
	d.bad[path] = true
	d.at(place{n.Line, n.Column}, path, fmt.Sprintf("found %s, allowed is %s", describe(n), allowed), hint)
}

// describe says what a node is.
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
	return quote(n.Value)
}

// quote renders a text of any length.
func quote(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return strconv.Quote(text)
}

// mapping holds the values of a mapping by key.
type mapping struct {
	*decoder
	path   string
	values map[string]*yaml.Node
}

// mapping decodes n as a mapping with no other keys than those. The result is empty when it is none.
func (d *decoder) mapping(n *yaml.Node, path string, keys ...string) mapping {
	m := mapping{d, path, map[string]*yaml.Node{}}
	d.places[path] = place{n.Line, n.Column}
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, "a mapping with the keys "+strings.Join(keys, ", "), "")
		return m
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := place{key.Line, key.Column}
		name := key.Value
		first, repeated := m.values[name]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.at(at, path, fmt.Sprintf("found %s as a key, allowed are %s", describe(key), strings.Join(keys, ", ")), "")
		case !slices.Contains(keys, name):
			d.at(at, path, fmt.Sprintf("found the unknown key %s, allowed are %s", quote(name), strings.Join(keys, ", ")), Suggest(name, keys))
		case repeated:
			d.at(at, join(path, name), fmt.Sprintf("found the key %q again, allowed is once; its first value is on line %d", name, first.Line), "")
		default:
			m.values[name] = value
			d.places[join(path, name)] = place{value.Line, value.Column}
		}
	}
	return m
}

// sub decodes the mapping at key; it is empty when there is none.
func (m mapping) sub(key string, keys ...string) mapping {
	n, ok := m.values[key]
	if !ok {
		return mapping{decoder: m.decoder, path: join(m.path, key)}
	}
	return m.mapping(n, join(m.path, key), keys...)
}

// each calls do with the elements of the list at key.
func (m mapping) each(key string, most int, do func(n *yaml.Node, path string)) {
	n, ok := m.values[key]
	if !ok {
		return
	}
	path := join(m.path, key)
	if n.Kind != yaml.SequenceNode {
		m.wrong(n, path, "a list", "")
		return
	}
	if len(n.Content) > most {
		m.bad[path] = true
		m.at(place{n.Line, n.Column}, path, fmt.Sprintf("found a list of %d, allowed are at most %d", len(n.Content), most), "")
		return
	}
	for i, element := range n.Content {
		path := fmt.Sprintf("%s[%d]", path, i)
		m.places[path] = place{element.Line, element.Column}
		do(element, path)
	}
}

func (m mapping) text(key string, into *string) {
	if n, ok := m.values[key]; ok {
		*into = m.decoder.text(n, join(m.path, key))
	}
}

// text decodes n as text and puts in its variables.
func (d *decoder) text(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
			hint = fmt.Sprintf("quote it: %q", n.Value)
		}
		d.wrong(n, path, "text", hint)
		return ""
	}
	return d.expanded(n, path)
}

func (d *decoder) expanded(n *yaml.Node, path string) string {
	text, problem := expand(n.Value, d.lookup)
	if problem != "" {
		d.bad[path] = true
		d.at(place{n.Line, n.Column}, path, problem, "")
	}
	return text
}

func (m mapping) whole(key string, into *int) {
	n, ok := m.values[key]
	if !ok {
		return
	}
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil {
		m.wrong(n, join(m.path, key), "a whole number", "")
		return
	}
	*into = v
}

func (m mapping) truth(key string, into *bool) {
	n, ok := m.values[key]
	if !ok {
		return
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		m.wrong(n, join(m.path, key), "true or false", "")
		return
	}
	*into = strings.EqualFold(n.Value, "true")
}

func (m mapping) number(key string, into *float64) {
	n, ok := m.values[key]
	if !ok {
		return
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" || err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		m.wrong(n, join(m.path, key), "a number", "")
		return
	}
	*into = v
}

// written returns the text of a key whose value YAML may take for a number or an instant, with variables expanded where it is a
// string; ok is false without the key, or after a fault that was told.
func (m mapping) written(key string) (n *yaml.Node, path, text string, ok bool) {
	if n, ok = m.values[key]; !ok {
		return nil, "", "", false
	}
	path, text = join(m.path, key), n.Value
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		text = m.expanded(n, path)
	}
	return n, path, text, !m.bad[path]
}

// duration decodes a duration; only zero needs no unit.
func (m mapping) duration(key string, into *time.Duration) {
	n, path, text, ok := m.written(key)
	if !ok {
		return
	}
	v, err := time.ParseDuration(text)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || err != nil {
		m.wrong(n, path, "a duration with its unit, as in 300ms, 30s, 5m or 2h", unit(n))
		return
	}
	*into = v
}

// unit suggests what a duration with a missing or wrong unit may mean.
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
