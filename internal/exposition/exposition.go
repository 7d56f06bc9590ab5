// Package exposition writes numbers as the text that Prometheus and those who speak its format scrape: version 0.0.4.
//
// It has gauges and counters, no more, because that is what Muster exports. Each worker is the same program as muster
// up, and the usual library brings protocol buffers into it: over a megabyte for a page of text.
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

// ContentType is what a scraper is told the text to be.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Kind is what a family of numbers is.
type Kind string

// The kinds.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Family describes numbers of one name that differ in their labels. Names and labels are ASCII letters, digits and
// underscores.
type Family struct {
	Name, Help string
	Labels     []string
}

// Page gathers numbers for one answer. It is not safe for use by several goroutines.
type Page struct{ families map[string]*family }

type family struct {
	Family
	kind  Kind
	lines map[string]float64 // by the labels as they are written
}

// Add adds a number of a family, with a value for each label in their order. A number that was there is replaced.
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

// Bytes renders the page: families by name, and their numbers by their labels.
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

// written renders labels with their values; a value that is missing is empty.
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

// Counts are counters of one family. They are safe for use by several goroutines.
type Counts struct {
	family Family

	mu  sync.Mutex
	all map[string]count
}

type count struct {
	values []string
	n      float64
}

// NewCounts returns counters, none of which has counted yet.
func NewCounts(f Family) *Counts { return &Counts{family: f, all: map[string]count{}} }

// Add counts n more, at least 0, of what has those values for the labels.
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
