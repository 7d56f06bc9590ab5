// Package exposition writes metrics in the text format of Prometheus, version 0.0.4.
//
// A [Page] gathers metrics for one answer: [Page.Add] adds a gauge or a counter of a [Family],
// [Page.AddHistogram] a histogram, and [Page.Bytes] renders them. [Counts] are counters that live as long as the
// program and are added to each page.
//
//	var page exposition.Page
//	page.Add(exposition.Gauge, backlog, 40, "thumbs")
//	w.Header().Set("Content-Type", exposition.ContentType)
//	w.Write(page.Bytes())
//
// It has no summaries and no native histograms, because Muster exports none. The usual library would add protocol
// buffers, over a megabyte, to the program, which every worker runs too.
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
	// histogram is the kind of [Page.AddHistogram].
	histogram Kind = "histogram"
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
	lines map[string]string // one line, or all of one histogram, by rendered labels
}

// Add adds a number of a family, with a value for each label in order. It replaces a number with the
// same labels.
func (p *Page) Add(k Kind, f Family, v float64, values ...string) {
	of, labels := p.family(k, f), written(f.Labels, values)
	of.lines[labels] = line(f.Name, labels, v)
}

// Bucket is a bucket of a [Histogram].
type Bucket struct {
	// AtMost is the upper bound of the bucket, in the unit of the metric.
	AtMost float64
	// Count counts all values up to that bound, so also those of the buckets below.
	Count float64
}

// Histogram is a distribution of values. Buckets ascend by their bounds; the bucket without a bound is not among them.
type Histogram struct {
	Buckets    []Bucket
	Count, Sum float64
}

// AddHistogram adds a histogram of a family, with a value for each label in order. It replaces one with the same
// labels. No label may be named le: that is the bound of a bucket.
func (p *Page) AddHistogram(f Family, h Histogram, values ...string) {
	of := p.family(histogram, f)
	values = slices.Clone(values)[:min(len(values), len(f.Labels))]
	for len(values) < len(f.Labels) {
		values = append(values, "")
	}
	names := append(slices.Clone(f.Labels), "le")
	var b strings.Builder
	// Buckets stay in the order of their bounds, which is not that of their texts.
	for _, one := range h.Buckets {
		b.WriteString(line(f.Name+"_bucket", written(names, append(values, number(one.AtMost))), one.Count))
	}
	b.WriteString(line(f.Name+"_bucket", written(names, append(values, "+Inf")), h.Count))
	labels := written(f.Labels, values)
	b.WriteString(line(f.Name+"_sum", labels, h.Sum) + line(f.Name+"_count", labels, h.Count))
	of.lines[labels] = b.String()
}

// family returns the family of a page, which it makes at the first call.
func (p *Page) family(k Kind, f Family) *family {
	if p.families == nil {
		p.families = map[string]*family{}
	}
	of := p.families[f.Name]
	if of == nil {
		of = &family{Family: f, kind: k, lines: map[string]string{}}
		p.families[f.Name] = of
	}
	return of
}

// line renders one number.
func line(name, labels string, v float64) string { return name + labels + " " + number(v) + "\n" }

// number renders v with the fewest digits that read back as v.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Bytes renders the page: families by name, numbers by labels, so that equal numbers give equal bytes.
func (p *Page) Bytes() []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(p.families)) {
		f := p.families[name]
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name,
			strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.Help), name, f.kind)
		for _, labels := range slices.Sorted(maps.Keys(f.lines)) {
			b.WriteString(f.lines[labels])
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
