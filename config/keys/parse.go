package keys

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// MaxBytes bounds the text of a configuration.
const MaxBytes = 1 << 20

// maxDepth bounds how deep lists and mappings nest; a configuration needs eight.
const maxDepth = 32

// Parse reads the text as one YAML document without aliases, anchors and tags. ok is false after a fault.
func (s *Source) Parse(text []byte) (*yaml.Node, bool) {
	if len(text) > MaxBytes {
		s.at(place{1, 1}, "", fmt.Sprintf("found more than %d bytes, allowed are at most that", MaxBytes), "")
		return nil, false
	}
	if p, found := s.forbidden(); found != "" {
		s.at(p, "", "found "+found+", allowed is printable text in UTF-8", "")
		return nil, false
	}
	var documents []yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(maxDepth))
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments(), yaml.WithPlugin(limits)); err != nil {
		s.broken(err)
		return nil, false
	}
	switch {
	case len(documents) == 0 || len(documents[0].Content) == 0:
		s.at(place{1, 1}, "", "found no content, allowed is a configuration", "begin the file with \"version: 1\"")
		return nil, false
	case len(documents) > 1:
		s.at(place{documents[1].Line, documents[1].Column}, "", "found a second document, allowed is one", "")
		return nil, false
	}
	root := documents[0].Content[0]
	s.refuseIndirect(root)
	return root, len(s.faults) == 0
}

// forbidden returns the place and a description of the first character that must not be in the text: bytes that are not
// UTF-8, control characters, and line breaks that editors do not count, which would make line numbers wrong.
func (s *Source) forbidden() (place, string) {
	for i, line := range s.lines {
		column := 0
		for j, r := range line {
			column++
			_, size := utf8.DecodeRuneInString(line[j:])
			switch {
			case r == utf8.RuneError && size == 1:
				return place{i + 1, column}, fmt.Sprintf("the byte %#02x", line[j])
			case r == '\uFEFF' && i == 0 && j == 0, r == '\t':
			case r < ' ', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\uFEFF':
				return place{i + 1, column}, fmt.Sprintf("the control character %U", r)
			}
		}
	}
	return place{}, ""
}

// broken adds the fault of a text that is not YAML, at the mark of the parser.
func (s *Source) broken(err error) {
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		s.at(place{1, 1}, "", "found text that is not YAML: "+err.Error(), "")
		return
	}
	mark := load.Mark
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	message := strings.TrimPrefix(load.Message, "yaml: ")
	if load.ContextMsg != "" {
		message = load.ContextMsg + ": " + message
	}
	hint := ""
	if s.indentedByTab(mark.Line) {
		hint = "indent with spaces, not with tabs"
	}
	s.at(place{mark.Line, mark.Column}, "", "found text that is not YAML: "+message, hint)
}

// indentedByTab tells whether a line is indented by a tab, which YAML forbids and editors do not show.
func (s *Source) indentedByTab(line int) bool {
	if line < 1 || line > len(s.lines) {
		return false
	}
	text := s.lines[line-1]
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	return strings.Contains(indent, "\t")
}

// refuseIndirect adds a fault for each alias, anchor and tag below n. An alias applies a value at another place than it
// is written, and nested aliases grow a small text without bound.
func (s *Source) refuseIndirect(n *yaml.Node) {
	p := place{n.Line, n.Column}
	switch {
	case n.Kind == yaml.AliasNode:
		s.at(p, "", fmt.Sprintf("found the alias *%s, allowed are plain values", n.Value), "write the value itself")
	case n.Anchor != "":
		s.at(p, "", fmt.Sprintf("found the anchor &%s, allowed are plain values", n.Anchor), "remove the anchor")
	case n.Style&yaml.TaggedStyle != 0 && !OfTemplate(n):
		s.at(p, "", fmt.Sprintf("found the tag %s, allowed are plain values", n.Tag), "remove the tag")
	}
	for _, c := range n.Content {
		s.refuseIndirect(c)
	}
}
