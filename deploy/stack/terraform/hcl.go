package terraform

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-scale/muster/deploy/stack"
)

// This file prints bodies and expressions in Terraform's language: first the lines, then their indentation.

// body is what stands in a block, or in an object of an expression.
type body []entry

// entry is an attribute, or a block if the value is a body. Several blocks of a name are several entries. note is a
// comment above it.
type entry struct {
	key   string
	value any
	note  string
}

// The values besides body, string, bool, int and float64.
type (
	// list is a sequence of values.
	list []any
	// object is a value with members, where body would be a block.
	object body
	// noted is a value of a list with a comment above it.
	noted struct {
		note  string
		value any
	}
	// expression is written as it is.
	expression string
	// document is a value that Terraform encodes as JSON.
	document struct{ of any }
	// call is a function with its arguments.
	call struct {
		function  string
		arguments list
	}
	// heredoc is a text of several lines, in Base64 if encoded.
	heredoc struct {
		text    stack.Text
		encoded bool
	}
)

// printer collects the text.
type printer struct{ strings.Builder }

// formatted returns the text in the form that terraform fmt gives it. The formatter of the language itself is not used,
// because linking it costs more than these lines.
func (p *printer) formatted() []byte {
	var b strings.Builder
	var run []string // attributes of one line each, whose equals signs are aligned
	flush := func(margin string) {
		widest := 0
		for _, line := range run {
			widest = max(widest, strings.Index(line, " = "))
		}
		for _, line := range run {
			at := strings.Index(line, " = ")
			b.WriteString(margin + line[:at] + strings.Repeat(" ", widest-at) + line[at:] + "\n")
		}
		run = nil
	}
	// literal is true within a text of several lines, whose lines stay as they are.
	level, literal := 0, false
	for line := range strings.Lines(p.String()) {
		line = strings.TrimRight(line, "\n")
		margin := strings.Repeat("  ", level)
		open := opened(line)
		if !literal && open == 0 && isAttribute(line) {
			run = append(run, line)
			continue
		}
		flush(margin)
		switch {
		case literal || line == "":
			margin = ""
			literal = literal && line != "EOT"
		case open < 0:
			level--
			margin = strings.Repeat("  ", level)
		case strings.HasSuffix(line, "<<-EOT"):
			literal = true
		}
		// However many brackets a line opens, what follows is one step further in.
		if !literal && open > 0 || literal && strings.HasSuffix(line, "(<<-EOT") {
			level++
		}
		b.WriteString(margin + line + "\n")
	}
	return []byte(b.String())
}

// isAttribute tells whether a line begins with a name and an equals sign.
func isAttribute(line string) bool {
	name, _, ok := strings.Cut(line, " = ")
	named := hclsyntax.ValidIdentifier(name) || strings.HasPrefix(name, `"`) && strings.Count(name, `"`) == 2
	return ok && named && !strings.HasSuffix(line, "<<-EOT")
}

// opened returns how many more brackets a line opens than it closes, outside quotes.
func opened(line string) (n int) {
	quotes := false
	for i := 0; i < len(line) && line[0] != '#'; i++ {
		switch c := line[i]; {
		case c == '\\' && quotes:
			i++
		case c == '"':
			quotes = !quotes
		case quotes: // brackets in a text are none
		case c == '(' || c == '[' || c == '{':
			n++
		case c == ')' || c == ']' || c == '}':
			n--
		}
	}
	return n
}

// block prints a block with its labels.
func (p *printer) block(kind string, labels []string, b body, note string) {
	for line := range strings.Lines(note) {
		p.WriteString("# " + strings.TrimRight(line, "\n") + "\n")
	}
	p.WriteString(kind)
	for _, l := range labels {
		p.WriteString(" " + quoted(l))
	}
	// The language allows a block of one attribute in one line.
	if len(b) == 1 && b[0].note == "" {
		if text, ok := inline(b[0].value); ok && len(text) < maxColumns/2 {
			p.WriteString(" { " + key(b[0].key) + " = " + text + " }\n")
			return
		}
	}
	p.WriteString(" {\n")
	p.entries(b)
	p.WriteString("}\n")
}

// entries prints the entries of a block. Entries without a value are left out.
func (p *printer) entries(b body) {
	for _, e := range b {
		switch v := e.value.(type) {
		case nil:
		case body:
			p.block(e.key, nil, v, e.note)
		case list:
			if v != nil {
				p.attribute(e)
			}
		default:
			p.attribute(e)
		}
	}
}

// attribute prints a name with its value.
func (p *printer) attribute(e entry) {
	if e.note != "" {
		p.WriteString("# " + e.note + "\n")
	}
	p.WriteString(key(e.key) + " = ")
	p.value(e.value)
	p.WriteString("\n")
}

// key returns the key of an attribute, quoted if it is no identifier.
func key(name string) string {
	if hclsyntax.ValidIdentifier(name) {
		return name
	}
	return quoted(name)
}

// maxColumns is the length up to which a value stands in one line.
const maxColumns = 112

// value prints an expression, in one line if it is short.
func (p *printer) value(value any) {
	if line, ok := inline(value); ok && len(line) <= maxColumns {
		p.WriteString(line)
		return
	}
	switch v := value.(type) {
	case list:
		if p.wrapped(v) {
			return
		}
		p.WriteString("[\n")
		for _, x := range v {
			if n, ok := x.(noted); ok {
				p.WriteString("# " + n.note + "\n")
				x = n.value
			}
			p.value(x)
			p.WriteString(",\n")
		}
		p.WriteString("]")
	case object:
		p.WriteString("{\n")
		for _, e := range v {
			p.attribute(e)
		}
		p.WriteString("}")
	case document:
		p.WriteString("jsonencode(")
		p.value(v.of)
		p.WriteString(")")
	case call: // the arguments on lines of their own, without a comma behind the last
		p.WriteString(v.function + "(\n")
		for i, x := range v.arguments {
			p.value(x)
			p.WriteString(strings.Repeat(",", min(1, len(v.arguments)-1-i)) + "\n")
		}
		p.WriteString(")")
	case heredoc:
		text := "<<-EOT\n" + strings.TrimRight(interpolated(v.text), "\n") + "\nEOT\n"
		if v.encoded {
			text = "base64encode(" + text + ")"
		}
		p.WriteString(strings.TrimRight(text, "\n"))
	default:
		line, _ := inline(v)
		p.WriteString(line)
	}
}

// wrapped prints a list of texts in several lines, as many in each as fit. It returns false for a list of other values.
func (p *printer) wrapped(l list) bool {
	text, column := "[\n", 0
	for _, x := range l {
		word, ok := x.(string)
		if !ok {
			return false
		}
		one := quoted(word) + ","
		if column > 0 && column+1+len(one) > maxColumns-16 {
			text, column = text+"\n", 0
		} else if column > 0 {
			text, column = text+" ", column+1
		}
		text, column = text+one, column+len(one)
	}
	p.WriteString(text + "\n]")
	return true
}

// inline returns an expression in one line, unless it has comments or lines of its own.
func inline(value any) (string, bool) {
	var all []string
	switch v := value.(type) {
	case list:
		for _, x := range v {
			text, ok := inline(x)
			if !ok {
				return "", false
			}
			all = append(all, text)
		}
		return "[" + strings.Join(all, ", ") + "]", true
	case object:
		for _, e := range v {
			text, ok := inline(e.value)
			if !ok || e.note != "" {
				return "", false
			}
			all = append(all, key(e.key)+" = "+text)
		}
		return "{ " + strings.Join(all, ", ") + " }", true
	case body, noted:
		return "", false
	case document:
		text, ok := inline(v.of)
		return "jsonencode(" + text + ")", ok
	case call:
		text, ok := inline(v.arguments)
		if !ok {
			return "", false
		}
		return v.function + "(" + text[1:len(text)-1] + ")", true
	case heredoc:
		return "", false
	case string:
		return quoted(v), true
	case expression:
		return string(v), true
	case stack.Text:
		if len(v) == 1 && v[0].Parameter != "" {
			return "var." + snake(v[0].Parameter), true
		}
		return `"` + interpolated(v) + `"`, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return fmt.Sprint(value), true
}

// interpolated returns a text with its parameters as interpolations. Literals on one line are escaped as in quotes, and
// others as in a heredoc, where only the marks of templates have a meaning.
func interpolated(t stack.Text) string {
	lines := strings.Contains(t.Literals(), "\n")
	var b strings.Builder
	for _, part := range t {
		switch {
		case part.Parameter != "":
			b.WriteString("${var." + snake(part.Parameter) + "}")
		case lines:
			b.WriteString(marks(part.Literal))
		default:
			text := quoted(part.Literal)
			b.WriteString(text[1 : len(text)-1])
		}
	}
	return b.String()
}

// marks escapes what begins an interpolation or a directive.
func marks(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}

// quoted returns a text in quotes.
func quoted(text string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	return `"` + marks(escape.Replace(text)) + `"`
}

// snake returns a name of a parameter or of a function as Terraform writes names: subnet_ids for SubnetIds.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, c := range name {
		upper := c >= 'A' && c <= 'Z'
		if upper && lower {
			b.WriteByte('_')
		}
		if c == '-' {
			c = '_'
		}
		b.WriteString(strings.ToLower(string(c)))
		lower = !upper
	}
	return b.String()
}
