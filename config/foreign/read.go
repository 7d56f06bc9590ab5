package foreign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/muster-scale/muster/config"
)

// MaxBytes bounds the text, as CloudFormation bounds a template in a bucket.
const MaxBytes = 1 << 20

const (
	maxDepth     = 64
	maxDocuments = 200
	maxNodes     = 100_000
	maxNotes     = 500
)

// Result is what was found.
type Result struct {
	// Fleets are in the order of the text; there is at least one.
	Fleets []Fleet
	// Notes tell what could not be carried over, or means something else, each with its place; in the order of the text.
	Notes []config.Fault

	name string
}

// Read reads the template or the objects in text. The name stands in messages. An error tells what is wrong with the text as a
// whole; where it has a place it is a [config.Fault].
func Read(name string, text []byte) (Result, error) {
	r := &reader{name: name, text: text}
	documents, err := r.parse()
	if err != nil {
		return Result{}, err
	}
	for _, d := range documents {
		switch {
		case d.Kind != yaml.MappingNode:
		case strings.HasPrefix(plain(get(d, "apiVersion")), "keda.sh/"):
			r.object(d)
		case get(d, "Resources") != nil:
			newTemplate(r, d).read()
		}
	}
	if len(r.fleets) == 0 {
		return Result{}, r.nothing()
	}
	sortNotes(r.notes)
	return Result{Fleets: r.fleets, Notes: r.notes, name: name}, nil
}

// sortNotes puts notes into the order of the text.
func sortNotes(notes []config.Fault) {
	slices.SortStableFunc(notes, func(a, b config.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// nothing is the error of a text without anything to carry over.
func (r *reader) nothing() error {
	text := fmt.Sprintf("%s: found nothing that scales; expected a CloudFormation or SAM template with an AWS::AutoScaling::ScalingPolicy, an AWS::ApplicationAutoScaling::ScalingPolicy or scheduled actions, "+
		"or a ScaledObject of KEDA (apiVersion: keda.sh/v1alpha1)", r.name)
	if len(r.notes) > 0 {
		text += "; " + r.notes[0].String()
	}
	return errors.New(text)
}

// reader reads one text.
type reader struct {
	name   string
	text   []byte
	fleets []Fleet
	notes  []config.Fault
	// nodes counts what has been walked, resolved what has been resolved.
	nodes, resolved int
}

// parse reads the documents of the text, without aliases.
func (r *reader) parse() ([]*yaml.Node, error) {
	if len(r.text) > MaxBytes {
		return nil, fmt.Errorf("%s: found more than %d bytes, allowed are at most that", r.name, MaxBytes)
	}
	text := r.text
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" ")) // JSON may be indented with tabs, YAML may not
	}
	var documents []yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(maxDepth))
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments(), yaml.WithPlugin(limits)); err != nil {
		return nil, r.broken(err)
	}
	if len(documents) > maxDocuments {
		return nil, fmt.Errorf("%s: found %d documents, allowed are at most %d", r.name, len(documents), maxDocuments)
	}
	var roots []*yaml.Node
	for i := range documents {
		for _, n := range documents[i].Content {
			if bad := r.walk(n); bad != nil {
				return nil, bad
			}
			roots = append(roots, n)
		}
	}
	return roots, nil
}

// broken is the error of a text that is not YAML.
func (r *reader) broken(err error) error {
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return fmt.Errorf("%s: found text that is neither YAML nor JSON: %w", r.name, err)
	}
	mark := load.Mark
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	hint := ""
	if bytes.Contains(r.text, []byte("{{")) {
		hint = "it looks like a chart; render it first, as with helm template"
	}
	return config.Faults{config.FaultAt(r.name, r.text, mark.Line, mark.Column, "found text that is neither YAML nor JSON: "+strings.TrimPrefix(load.Message, "yaml: "), hint)}
}

// walk finds what must not be in the text.
func (r *reader) walk(n *yaml.Node) error {
	if r.nodes++; r.nodes > maxNodes {
		return fmt.Errorf("%s: found more than %d values, allowed are at most that", r.name, maxNodes)
	}
	if n.Kind == yaml.AliasNode {
		return config.Faults{config.FaultAt(r.name, r.text, n.Line, n.Column, fmt.Sprintf("found the alias *%s, allowed are plain values", n.Value), "write the value itself")}
	}
	for _, c := range n.Content {
		if err := r.walk(c); err != nil {
			return err
		}
	}
	return nil
}

// note adds a note at a node that is about no fleet.
func (r *reader) note(n *yaml.Node, format string, args ...any) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, r.place(n, format, args...))
	}
}

// place is a note at a node.
func (r *reader) place(n *yaml.Node, format string, args ...any) config.Fault {
	line, column := 1, 1
	if n != nil {
		line, column = n.Line, n.Column
	}
	return config.FaultAt(r.name, r.text, line, column, fmt.Sprintf(format, args...), "")
}

// get returns the value of a key of a mapping, or nil.
func get(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// plain is the text of a scalar, empty for anything else.
func plain(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// pairs calls do with the keys and values of a mapping.
func pairs(n *yaml.Node, do func(key, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		do(n.Content[i], n.Content[i+1])
	}
}

// elements are the elements of a list, none for anything else.
func elements(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// number reads a finite number.
func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v-v == 0
}

// truth reads a boolean, however it is written.
func truth(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }

// brief cuts what a user wrote for a message.
func brief(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return strconv.Quote(text)
}
