package cloudformation

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/deploy/stack"
)

// This file prints trees of values as YAML with the short forms of CloudFormation's functions.

// object is a mapping with ordered members. A member without a value is left out.
type object []member

// member is one member of a mapping. note is a comment above it.
type member struct {
	key   string
	value any
	note  string
}

// The values besides object, string, bool, int and float64.
type (
	// list is a sequence.
	list []any
	// ref refers to a parameter or to the main value of a resource.
	ref string
	// attribute refers to an attribute of a resource, as in Role.Arn.
	attribute string
	// noted is a value of a list with a comment above it.
	noted struct {
		note  string
		value any
	}
	// encoded is a text that is encoded in Base64 when the stack is made.
	encoded stack.Text
)

// printer collects the text.
type printer struct{ strings.Builder }

// members prints a mapping whose keys begin at an indentation. The first key follows what is already on the line.
func (p *printer) members(o object, indent int, inline bool) {
	for _, m := range o {
		if empty(m.value) {
			continue
		}
		if !inline {
			for line := range strings.Lines(m.note) {
				p.line(indent, "# "+strings.TrimRight(line, "\n"))
			}
			p.WriteString(strings.Repeat(" ", indent))
		}
		inline = false
		p.WriteString(plain(m.key) + ":")
		p.value(m.value, indent)
	}
}

// line prints one line.
func (p *printer) line(indent int, text string) {
	p.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// empty tells whether a member is left out.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case object:
		return len(v) == 0
	case list:
		return len(v) == 0
	}
	return false
}

// value prints a value behind its key, which begins at an indentation. What fits stands in the same line.
func (p *printer) value(value any, indent int) {
	line := p.String()
	column := len(line) - strings.LastIndexByte(line, '\n')
	if text, ok := flow(value); ok && column+len(text) <= maxColumns {
		p.WriteString(" " + text + "\n")
		return
	}
	switch v := value.(type) {
	case object:
		p.WriteString("\n")
		p.members(v, indent+2, false)
	case list:
		if lines, ok := wrapped(v, indent+2); ok {
			p.WriteString("\n" + lines)
			return
		}
		p.WriteString("\n")
		for _, x := range v {
			if n, ok := x.(noted); ok {
				p.line(indent+2, "# "+n.note)
				x = n.value
			}
			p.WriteString(strings.Repeat(" ", indent+2) + "-")
			o, ok := x.(object)
			if text, short := flow(x); !ok || short && indent+4+len(text) <= maxColumns {
				p.value(x, indent+2)
				continue
			}
			p.WriteString(" ")
			p.members(o, indent+4, true)
		}
	case encoded:
		p.WriteString("\n")
		if text := stack.Text(v); text.Fixed() {
			p.line(indent+2, "Fn::Base64: |")
			p.block(text.Literals(), indent+4)
		} else {
			p.line(indent+2, "Fn::Base64: !Sub |")
			p.block(substituted(text), indent+4)
		}
	case string:
		if strings.Contains(v, "\n") {
			p.WriteString(" |-\n")
			p.block(v, indent+2)
			return
		}
		p.WriteString(" " + plain(v) + "\n")
	default:
		p.WriteString(" " + scalar(v) + "\n")
	}
}

// block prints the lines of a literal text.
func (p *printer) block(text string, indent int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line == "" {
			p.WriteString("\n")
			continue
		}
		p.line(indent, line)
	}
}

// maxColumns is the length up to which a value stands in one line.
const maxColumns = 120

// flow returns a value in one line. Comments, resources and texts with several lines need more.
func flow(value any) (string, bool) {
	var all []string
	switch v := value.(type) {
	case object:
		for _, m := range v {
			text, ok := flow(m.value)
			if !ok || m.note != "" || m.key == "Properties" {
				return "", false
			}
			if !empty(m.value) {
				all = append(all, plain(m.key)+": "+text)
			}
		}
		return "{" + strings.Join(all, ", ") + "}", true
	case list:
		for _, x := range v {
			text, ok := flow(x)
			if !ok {
				return "", false
			}
			all = append(all, text)
		}
		return "[" + strings.Join(all, ", ") + "]", true
	case encoded, noted:
		return "", false
	case string:
		// Commas and brackets end a plain text within a line of others.
		if strings.ContainsAny(v, ",[]{}") {
			return quoted(v), !strings.Contains(v, "\n")
		}
		return plain(v), !strings.Contains(v, "\n")
	}
	return scalar(value), true
}

// wrapped returns a list of short scalars in several lines, as many values in each as fit.
func wrapped(l list, indent int) (string, bool) {
	margin := strings.Repeat(" ", indent)
	text, column := margin+"[", indent+1
	for i, x := range l {
		one, ok := flow(x)
		if !ok || strings.ContainsAny(one, "{[") || indent+len(one)+2 > maxColumns {
			return "", false
		}
		if i > 0 {
			text, column = text+",", column+1
			if column+len(one)+2 > maxColumns {
				text, column = text+"\n"+margin, indent
			}
			text, column = text+" ", column+1
		}
		text, column = text+one, column+len(one)
	}
	return text + "]\n", true
}

// scalar returns a value that needs no lines of its own.
func scalar(value any) string {
	switch v := value.(type) {
	case ref:
		return "!Ref " + string(v)
	case attribute:
		return "!GetAtt " + string(v)
	case stack.Text:
		return textOf(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// textOf returns a text with parameters in it.
func textOf(t stack.Text) string {
	switch {
	case len(t) == 1 && t[0].Parameter != "":
		return "!Ref " + t[0].Parameter
	case t.Fixed():
		return plain(t.Literals())
	}
	return "!Sub " + quoted(substituted(t))
}

// substituted returns a text for Fn::Sub, which reads ${X} as a value and ${!X} as itself.
func substituted(t stack.Text) string {
	var b strings.Builder
	for _, part := range t {
		if part.Parameter != "" {
			b.WriteString("${" + part.Parameter + "}")
			continue
		}
		b.WriteString(strings.ReplaceAll(part.Literal, "${", "${!"))
	}
	return b.String()
}

// safe matches what YAML takes for a text without quotes: it begins with a letter or a slash, and has no colon before a
// space, which would end a key, and no comment.
var safe = regexp.MustCompile(`^[A-Za-z/](?:[A-Za-z0-9 _./+()*<>;=',-]|:+[A-Za-z0-9/_])*$`)

// plain returns a text as YAML, quoted where it has to be.
func plain(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return quoted(text)
	}
	if safe.MatchString(text) && !strings.HasSuffix(text, " ") {
		return text
	}
	return quoted(text)
}

// quoted returns a text in quotes.
func quoted(text string) string {
	if strings.ContainsAny(text, "\n\t\r") {
		return strconv.Quote(text)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
