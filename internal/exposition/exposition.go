// Package exposition writes metrics in the text format of Prometheus, version 0.0.4.
//
// A [Page] gathers gauges and counters for one answer: [Page.Add] adds a number of a [Family],
// [Page.Bytes] renders them. [Counts] are counters that live as long as the program and are added to
// each page.
//
//	var page exposition.Page
//	page.Add(exposition.Gauge, backlog, 40, "thumbs")
//	w.Header().Set("Content-Type", exposition.ContentType)
//	w.Write(page.Bytes())
//
// It has only gauges and counters, because Muster exports nothing else. The usual library would add
// protocol buffers, over a megabyte, to the program, which every worker runs too.
package exposition

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContentType is the content type of the format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Kind is the type of a family.
type Kind string

// The kinds.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Family describes numbers with the same name and different labels. Names and labels are ASCII letters,
// digits and underscores; the caller ensures that.
type Family struct {
	Name, Help string
	Labels     []string
}

// Page gathers numbers for one answer. It is not safe for concurrent use.
type Page struct{ families map[string]*family }

type family struct {
	Family
	kind  Kind
	lines map[string]float64 // by rendered labels
}

// Add adds a number of a family, with a value for each label in order. It replaces a number with the
// same labels.
func (p *Page) Add(k Kind, f Family, v float64, values ...string) {
	if p.families == nil {
		p.families = map[string]*family{}
	}
	of := p.families[f.Name]
	if of == nil {
		of = &family{Family: f, kind: k, lines: map[string]float64{}}
		p.families[f.Name] = of
	}
	of.lines[written(f.Labels, values)] = v
}

// Bytes renders the page: families by name, numbers by labels, so that equal numbers give equal bytes.
func (p *Page) Bytes() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(p.families)) {
		f := p.families[name]
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name,
			strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.Help), name, f.kind)
		for _, labels := range slices.Sorted(maps.Keys(f.lines)) {
			b.WriteString(name + labels + " " + strconv.FormatFloat(f.lines[labels], 'g', -1, 64) + "\n")
		}
	}
	return b.Bytes()
}

// written renders labels with values. A missing value is empty.
func written(names, values []string) string {
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	for i, name := range names {
		value := ""
		if i < len(values) {
			value = strings.ToValidUTF8(values[i], "\uFFFD")
		}
		b.WriteString([]string{"{", ","}[min(i, 1)] + name + `="`)
		b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`)
	}
	return b.String() + "}"
}

// Counts are the counters of one family. They are safe for concurrent use.
type Counts struct {
	family Family

	mu  sync.Mutex
	all map[string]count
}

// count is one counter with its label values.
type count struct {
	values []string
	n      float64
}

// NewCounts returns a family of counters. A counter appears with its first Add.
func NewCounts(f Family) *Counts { return &Counts{family: f, all: map[string]count{}} }

// Add adds n, at least 0, to the counter with these label values.
func (c *Counts) Add(n float64, values ...string) {
	key := strings.Join(values, "\x00")
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[key]
	c.all[key] = count{slices.Clone(values), one.n + n}
}

// Collect adds the counters to a page.
func (c *Counts) Collect(p *Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		p.Add(Counter, c.family, one.n, one.values...)
	}
}
