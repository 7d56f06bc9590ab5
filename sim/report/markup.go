package report

import (
	"fmt"
	"html"
	"strings"
)

// markup is text that a browser may interpret, because this package made it. Every other text is escaped.
//
// Pages are written by plain code, and not with html/template. That package finds methods by name at run time, so the
// linker would have to keep every exported method of every linked type: a third of the program.
type markup string

// writer collects the text of a page.
type writer struct{ b strings.Builder }

// put appends a format whose verbs are all %s. Each argument is escaped, for text and for quoted attributes, unless it
// is markup.
func (w *writer) put(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case markup:
		case string:
			args[i] = html.EscapeString(a)
		default:
			args[i] = html.EscapeString(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(&w.b, format, args...)
}

// html returns the page.
func (p page) html() string {
	var w writer
	// The policy stands before the style and the script that it allows.
	w.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="%s" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>%s</title>
<style>%s</style>
</head>
<body>
<header>
<h1>%s</h1>
<p class="facts">%s</p>
</header>
<main>
`, p.Policy, p.Title, p.Style, p.Title, p.Facts)
	p.results(&w)
	w.put(`<section class="card" aria-labelledby="front">
<h2 id="front">Attainment and cost</h2>
<figure>%s</figure>
<p class="note">Up is more in time, left is cheaper. The line joins the runs that no other beats in both.`+
		` The axis is stretched towards 100 %%, where runs differ most.</p>
</section>
`, p.Front)
	for _, s := range p.Runs {
		s.write(&w)
	}
	w.put("</main>\n<script>%s</script>\n</body>\n</html>\n", p.Script)
	return w.b.String()
}

// results appends the table that compares the runs.
func (p page) results(w *writer) {
	w.put(`<section class="card" aria-labelledby="results">
<h2 id="results">Results</h2>
<div class="wide" tabindex="0" role="region" aria-labelledby="results">
<table class="results">
<thead><tr><th scope="col">Run</th><th scope="col">Trace</th>`)
	for _, f := range p.Heads {
		w.put(`<th scope="col" class="number" title="%s">%s</th>`, f.meaning, f.label)
	}
	w.put("</tr></thead>\n<tbody>\n")
	for _, s := range p.Runs {
		class, star := markup(""), markup("")
		if s.Best {
			class = ` class="best"`
			star = ` <abbr title="no run on this trace is both cheaper and more in time">★</abbr>`
		}
		w.put(`<tr%s><th scope="row"><a href="#%s">%s</a>%s</th><td>%s</td>`, class, s.ID, s.Name, star, s.Trace)
		for _, v := range s.Summary {
			w.put(`<td class="number">%s</td>`, v)
		}
		w.put("</tr>\n")
	}
	w.put(`</tbody>
</table>
</div>
<p class="note">★ no run on the same trace is both cheaper and more in time. A message is in time if it finishes within the` +
		` objective of its run. The ratio is to the lower bound: the least cost of any schedule that meets the objective.</p>
</section>
`)
}

// write appends the section of one run.
func (s section) write(w *writer) {
	w.put(`<section class="card run" id="%s" aria-labelledby="%s-title">
<h2 id="%s-title">%s <span class="on">on %s</span></h2>
<p class="headline">%s</p>
`, s.ID, s.ID, s.ID, s.Name, s.Trace, s.Headline)
	if len(s.Faults) > 0 {
		w.put(`<div class="faults" role="note"><strong>Violated invariants</strong><ul>`)
		for _, f := range s.Faults {
			w.put("<li>%s</li>", f)
		}
		w.put("</ul></div>\n")
	}
	if s.Picture == "" {
		w.put("<p class=\"note\">This run was not recorded, so it has no curves.</p>\n")
	} else {
		s.curves(w)
	}
	w.put("<h3>Every figure</h3>\n<dl class=\"figures\">\n")
	for _, f := range s.Figures {
		w.put("<div><dt>%s</dt><dd>%s</dd><dd class=\"meaning\">%s</dd></div>\n", f.Label, f.Value, f.Meaning)
	}
	w.put("</dl>\n</section>\n")
}

// curves appends the picture of a run, the values of its tooltips and the list of decisions.
func (s section) curves(w *writer) {
	w.put(`<figure data-picture="%s">
%s<div class="readout" hidden="hidden"><div class="time"></div><table><tbody></tbody></table><p class="why"></p></div>
<figcaption class="note">Point at the curves to read their values and the last decision. The tab key goes to the decisions,`+
		` the arrow keys from one to the next. A worker that leaves by itself lowers the size without a decision.</figcaption>
</figure>
<script type="application/json" id="%s-values">%s</script>
<details class="decisions"><summary>%s</summary>
<div class="wide"><table>
<thead><tr><th scope="col" class="number">At</th><th scope="col" class="number">From</th>`+
		`<th scope="col" class="number">To</th><th scope="col">Why</th></tr></thead>
<tbody id="%s-decisions">
`, s.ID, s.Picture, s.ID, s.Values, s.Changes, s.ID)
	for _, m := range s.Marks {
		w.put(`<tr><td class="number">%s</td><td class="number">%s</td><td class="number">%s</td><td>%s</td></tr>`+"\n",
			m.At, m.From, m.To, m.Why)
	}
	w.put("</tbody>\n</table></div>\n</details>\n")
}
