package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/muster-scale/muster/internal/render"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

const (
	// pageColumns and pageMarks bound what a page shows of all its runs together. The runs share them equally, but each
	// gets at least the least, so that a page of many runs stays small enough for a browser.
	pageColumns, leastColumns = 20_000, 100
	pageMarks, leastMarks     = 20_000, 50
)

// page is the content of a page. It is made in two steps: HTML and newSection fill the types below with plain values,
// and markup.go writes them as HTML.
type page struct {
	Title  string
	Facts  string // what the runs have in common
	Policy string // the content security policy: the page's own style and script only, nothing from outside
	Style  markup
	Script markup
	Heads  []field   // the columns of the table that compares the runs
	Front  markup    // the picture of attainment against cost
	Runs   []section // in the order in which they were given
}

// section is one run in a page.
type section struct {
	ID, Name, Trace, Headline string   // the ID is unique in the page
	Best                      bool     // no run on its trace is both cheaper and more in time
	Faults                    []string // violated invariants
	Summary                   []string // the row in the table, one text for each of page.Heads
	Figures                   []figure // all fields
	Picture                   markup   // empty for a run that was not recorded
	Values                    markup   // the numbers of the tooltips, as JSON
	Marks                     []listed // the decisions, in the order of their times
	Changes                   string   // how many decisions there were, if not all are listed
}

// figure is one figure of a run with its name and meaning.
type figure struct{ Label, Meaning, Value string }

// listed is a decision in the list below a picture.
type listed struct{ At, From, To, Why string }

// HTML writes one page about the given runs: what each reached against what it cost, a table, and for each run its
// curves and decisions. The page needs no other file and no network. A page of many runs shows fewer points of each,
// and says so where decisions are left out. It returns an error when there are no runs, and the errors of w.
func HTML(w io.Writer, title string, runs []Run) error {
	if len(runs) == 0 {
		return errors.New("write a report: found no runs, at least one is needed")
	}
	// The policy lets the browser run the page's own script only, which it knows by its hash. A page can show texts
	// from anywhere, such as names of traces, and must be safe to open and to share.
	hash := sha256.Sum256([]byte(pageScript))
	p := page{
		Title: clean(title), Facts: facts(runs), Heads: heads(), Front: markup(attainmentSVG(runs, true)),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
			base64.StdEncoding.EncodeToString(hash[:]) + "'",
		Style: markup(pageStyle + chartStyle), Script: markup(pageScript),
	}
	best := map[int]bool{}
	for _, f := range facets(runs) {
		for _, i := range pareto(runs, f.runs) {
			// In a table of one run, a star for the best one would tell nothing.
			best[i] = len(f.runs) > 1
		}
	}
	called := names(runs)
	for i, r := range runs {
		s, err := newSection(r, called[i], i, len(runs))
		if err != nil {
			return fmt.Errorf("write a report: %w", err)
		}
		s.Best = best[i]
		p.Runs = append(p.Runs, s)
	}
	if _, err := io.WriteString(w, p.html()); err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	return nil
}

// newSection returns the section of one run, which shares the bounds of the page with the others.
func newSection(r Run, name string, place, of int) (section, error) {
	s := section{
		ID: "run-" + strconv.Itoa(place), Name: clean(name), Trace: clean(r.Result.Trace), Headline: headline(r.Result),
	}
	for _, f := range r.Result.Faults {
		s.Faults = append(s.Faults, clean(f))
	}
	for _, f := range fields {
		s.Figures = append(s.Figures, figure{f.label, f.meaning, clean(f.show(r.Result))})
	}
	for _, f := range heads() {
		s.Summary = append(s.Summary, f.show(r.Result))
	}
	if len(r.Curves.columns) == 0 {
		return s, nil
	}
	// Runs share the room of the page equally.
	k := r.Curves.coarse(min(maxColumns, max(leastColumns, pageColumns/of)),
		min(maxMarks, max(leastMarks, pageMarks/of)))
	p := picture{run: r, k: k, name: name, id: s.ID, inPage: true}
	text, err := json.Marshal(k.values()) // it escapes <, > and &, so no value can end the script element
	if err != nil {
		return section{}, fmt.Errorf("encode the curves of run %q: %w", name, err)
	}
	s.Picture, s.Values = markup(p.draw()), markup(text)
	for _, m := range k.marks {
		s.Marks = append(s.Marks, listed{span(m.at.Seconds()), strconv.Itoa(m.from), strconv.Itoa(m.to),
			clean(m.why())})
	}
	s.Changes = changed(k.changes) + " of the desired count"
	if len(k.marks) < k.changes {
		s.Changes += ", the largest " + count(int64(len(k.marks))) + " shown"
	}
	return s, nil
}

// clean replaces bytes that are not UTF-8, and characters that XML forbids.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		// Names and sentences can come from files, and one such character would make the whole picture unreadable.
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// changed says how often the desired count changed.
func changed(n int) string {
	if n == 1 {
		return "1 change"
	}
	return count(int64(n)) + " changes"
}

// heads returns the fields of the summary.
func heads() (all []field) {
	for _, key := range summary {
		for _, f := range fields {
			if f.key == key {
				all = append(all, f)
			}
		}
	}
	return all
}

// facts returns a sentence about what the runs have in common.
func facts(runs []Run) string {
	text := render.Plural(len(runs), "simulated run") + " on " + render.Plural(len(facets(runs)), "trace")
	o := runs[0].Objective
	for _, r := range runs {
		if r.Objective != o {
			return text + "; objectives differ"
		}
	}
	switch {
	case o.Latency <= 0:
		return text
	case o.Quantile > 0:
		return fmt.Sprintf("%s; objective: %s of the messages finish within %s", text, percent(o.Quantile),
			span(o.Latency.Seconds()))
	}
	return fmt.Sprintf("%s; objective: messages finish within %s", text, span(o.Latency.Seconds()))
}

// values are the numbers of the tooltips. They are a third of the page's size, so they have three decimals and no names
// for each number. page.js reads them.
type values struct {
	End  float64   `json:"end"`  // seconds
	At   []float64 `json:"at"`   // when each column begins, in seconds
	Rows []row     `json:"rows"` // one for each curve
	When []float64 `json:"when"` // of the decisions, in seconds
}

// row is one curve. For each column it has a number; or the last, the least and the largest where they differ; or null
// where the value is unknown. A rate has times of its own, and pairs of the mean and the fastest.
type row struct {
	Name   string    `json:"name"`
	Kind   string    `json:"kind"` // count, time or rate
	At     []float64 `json:"at,omitzero"`
	Values []any     `json:"values"`
}

// values returns the numbers of the tooltips, with three decimals.
func (k Curves) values() values {
	v := values{End: thousandth(k.end.Seconds()), At: []float64{}, When: []float64{}}
	arrivals := row{Name: "arrivals", Kind: "rate", Values: []any{}}
	for _, r := range k.rates() {
		arrivals.At = append(arrivals.At, thousandth(r.from.Seconds()))
		arrivals.Values = append(arrivals.Values, [2]float64{thousandth(r.mean), thousandth(r.fastest)})
	}
	v.Rows = append(v.Rows, arrivals)
	for _, c := range k.columns {
		v.At = append(v.At, thousandth(c.at.Seconds()))
	}
	for _, m := range k.marks {
		v.When = append(v.When, thousandth(m.at.Seconds()))
	}
	for _, q := range []struct {
		quantity   int
		name, kind string
	}{
		{backlog, "backlog", "count"}, {age, "oldest age", "time"}, {desired, "desired", "count"},
		{live, "existing", "count"},
		{inService, "in service", "count"}, {busy, "busy", "count"},
	} {
		r := row{Name: q.name, Kind: q.kind}
		for _, c := range k.columns {
			r.Values = append(r.Values, c.values[q.quantity].shown())
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// shown returns an extent as its row has it.
func (e extent) shown() any {
	switch {
	case !e.known:
		return nil
	// Most columns of most curves have one value, and one number is a third of three.
	case e.least == e.largest:
		return thousandth(e.last)
	}
	return [3]float64{thousandth(e.last), thousandth(e.least), thousandth(e.largest)}
}

// thousandth rounds to three decimals.
func thousandth(v float64) float64 { return math.Round(v*1000) / 1000 }
