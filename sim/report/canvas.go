package report

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
)

// canvas builds SVG text. It escapes all texts and attributes.
type canvas struct {
	strings.Builder
}

// begin opens an element. Attributes are given as name, value, name, value.
func (c *canvas) begin(tag string, attributes ...string) {
	c.tag(tag, attributes)
	c.WriteString(">")
}

// end closes an element.
func (c *canvas) end(tag string) {
	c.WriteString("</" + tag + ">\n")
}

// leaf writes an element without content.
func (c *canvas) leaf(tag string, attributes ...string) {
	c.tag(tag, attributes)
	c.WriteString("/>\n")
}

// say writes an element with a text.
func (c *canvas) say(tag, text string, attributes ...string) {
	c.begin(tag, attributes...)
	c.escaped(text)
	c.end(tag)
}

// label writes a text at a place. Its class decides how it looks and which end of it is at x.
func (c *canvas) label(x, y float64, class, text string) {
	c.say("text", text, "class", class, "x", px(x), "y", px(y))
}

// line writes a straight line.
func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.leaf("line", "class", class, "x1", px(x1), "y1", px(y1), "x2", px(x2), "y2", px(y2))
}

// tag writes the begin of an element, with its attributes and without its closing bracket.
func (c *canvas) tag(tag string, attributes []string) {
	c.WriteString("<" + tag)
	for i := 0; i+1 < len(attributes); i += 2 {
		c.WriteString(" " + attributes[i] + `="`)
		c.escaped(attributes[i+1])
		c.WriteString(`"`)
	}
}

// escaped writes text that a browser shows as it is.
func (c *canvas) escaped(text string) {
	// A strings.Builder never fails. EscapeText replaces what XML does not allow.
	_ = xml.EscapeText(c, []byte(text))
}

// px returns a coordinate to a tenth of a pixel.
func px(v float64) string {
	// A tenth of a pixel is not visible, and short numbers keep pages small.
	v = math.Round(v*10) / 10
	if v == 0 { // also -0, which would be written with its sign
		v = 0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// path builds the outline of a curve that keeps each value until the next one, as desired counts do.
type path struct {
	strings.Builder
	x, y  float64
	drawn bool // since the last start
}

// start moves to a place without drawing.
func (p *path) start(x, y float64) {
	p.WriteString("M" + px(x) + " " + px(y))
	p.x, p.y, p.drawn = x, y, true
}

// across draws to the given x, and down to the given y, if the step is visible.
func (p *path) across(x float64) {
	if px(x) != px(p.x) {
		p.WriteString("H" + px(x))
		p.x = x
	}
}

// down draws to the given y, if the step is visible.
func (p *path) down(y float64) {
	if px(y) != px(p.y) {
		p.WriteString("V" + px(y))
		p.y = y
	}
}
