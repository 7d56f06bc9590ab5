package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/worlds"
)

// section is what a part found.
type section struct {
	about  string
	goals  []goal
	tables []table
	notes  []string
}

// table is a table of the page; the first column is words, the others are figures.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// page is the report in the making.
type page struct {
	command, machine, load string
	commit                 string
	// fingerprint stands for what the code decides.
	fingerprint  string
	dirty        bool
	started      time.Time
	parallel     int
	seeds, fresh []uint64
	// some says of a part which scenarios it was played on, where that are not all.
	some   map[string]string
	limits *limitFile
	runs   *store[sim.Result]
	drawn  *store[worlds.Outcome]

	played  []played
	missing []absent
}

func begin(o options, s *score, commit string, dirty bool) page {
	p := page{
		command: o.command(), machine: machine(), load: host.Load(), commit: commit, dirty: dirty, started: time.Now(),
		parallel: o.parallel, seeds: s.seeds, limits: s.limits, runs: s.runs, drawn: s.drawnRuns,
	}
	p.some = map[string]string{}
	for _, part := range suiteParts() {
		var names []string
		for _, x := range s.scenarios[part] {
			names = append(names, x.Name)
		}
		if all := len(trace.Scenarios()); len(names) < all {
			p.some[part] = fmt.Sprintf("%d of %d, %s", len(names), all, strings.Join(names, ", "))
		}
	}
	if n := len(s.numbers); n < worldCount {
		p.some[boxName] = fmt.Sprintf("%d worlds, and not %d", n, worldCount)
	}
	if n, all := len(s.real), len(known()); n > 0 && n < all {
		p.some["g"] = fmt.Sprintf("%d of %d recorded traces", n, all)
	}
	return p
}

// command is what makes the page again: make score with the options as they were given, without places on this machine.
func (o options) command() string {
	words := o.words()
	if words == "" {
		return "make score"
	}
	return `make score SCORE="` + words[1:] + `"`
}

// words are the options as they were given, each with a space before it.
func (o options) words() (text string) {
	if o.only != "" {
		text += " -only " + o.only
	}
	if o.scenarios != "" {
		text += " -scenarios " + o.scenarios
	}
	if o.numbers != "" {
		text += " -numbers " + o.numbers
	} else if o.worlds != worldCount && o.worlds != 0 {
		text += fmt.Sprintf(" -worlds %d", o.worlds)
	}
	if o.seeds != "6-10" {
		text += " -seeds " + o.seeds
	}
	if o.traces != "" {
		text += " -traces DIR"
	}
	if o.recordings != "" {
		text += " -recordings " + o.recordings
	}
	if o.add != "" {
		text += " -add PAGES"
	}
	return text
}

// played is a part on the page: what is written of it, and how many of its goals are met.
type played struct {
	part    part
	text    string
	met, of int
}

// absent is a part that is not on the page, and why.
type absent struct {
	part part
	why  string
}

// leaveOut notes that a part is not on the page, until it is added.
func (p *page) leaveOut(x part, why string) { p.missing = append(p.missing, absent{x, why}) }

// add writes what a part found.
func (p *page) add(x part, found section, took string) {
	met := 0
	var b strings.Builder
	fmt.Fprintf(&b, "## %s. %s\n\n%s\n\n%s%s; load of the machine %s; it took %s.\n\n", x.name, x.title, found.about,
		playedOn,
		p.when(), host.Load(), took)
	if some := p.some[x.name]; some != "" {
		fmt.Fprintf(&b, "%s%s.\n\n", onlySome, some)
	}
	if len(found.goals) > 0 {
		goals := table{head: goalsHead()}
		for _, g := range found.goals {
			said := "met"
			if g.met {
				met++
			} else {
				said = "**not met**: " + g.why
			}
			goals.add(g.what, g.target, g.found, said)
		}
		goals.write(&b, false)
	} else {
		b.WriteString("There was nothing to judge.\n\n")
	}
	for _, t := range found.tables {
		t.write(&b, true)
	}
	for _, n := range found.notes {
		b.WriteString(n + "\n\n")
	}
	p.put(played{x, b.String(), met, len(found.goals)})
}

// goalsOn is the first line of a table of goals.
const goalsOn = "| what | goal | found | met |"

func goalsHead() []string { return []string{"what", "goal", "found", "met"} }

// onlySome begins the sentence that says which scenarios or traces were played.
const onlySome = "**Only some are played**: "

// playedOn begins the sentence that says when a part was played.
const (
	playedOn      = "Played at commit "
	fingerprintOn = "- decisions: "
)

func (p *page) when() string {
	return fmt.Sprintf("%s on %s", p.at(), time.Now().UTC().Format("2006-01-02 15:04 UTC"))
}

func (p *page) at() string {
	if p.dirty {
		return p.commit + ", with changes that are not committed,"
	}
	return p.commit
}

// put puts a part in its place.
func (p *page) put(x played) {
	same := func(name string) bool { return name == x.part.name }
	p.missing = slices.DeleteFunc(p.missing, func(m absent) bool { return same(m.part.name) })
	p.played = slices.DeleteFunc(p.played, func(y played) bool { return same(y.part.name) })
	p.played = append(p.played, x)
	slices.SortFunc(p.played, func(x, y played) int { return cmp.Compare(placeOf(x.part), placeOf(y.part)) })
}

func (t table) write(b *strings.Builder, figures bool) {
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---"
		if figures && i > 0 {
			rule[i] = "---:"
		}
	}
	fmt.Fprintf(b, "%s\n%s\n", row(t.head), row(rule))
	for _, r := range t.rows {
		b.WriteString(row(r) + "\n")
	}
	b.WriteString("\n")
}

// placeOf is where a part stands on the page.
func placeOf(x part) int {
	return slices.IndexFunc(parts(), func(y part) bool { return x.name == y.name })
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// write writes the page as far as it is; nowhere, for an empty path.
func (p *page) write(path string) error {
	if path == "" {
		return nil
	}
	return os.WriteFile(path, []byte(p.text()), 0o644)
}

// text returns the page as far as it is.
func (p *page) text() string {
	var b strings.Builder
	b.WriteString("# Quality\n\nHow good the decisions of the default policy, `deadline`, are, measured against the " +
		"goals of the project. Written by `make score`; do not edit. " +
		"It has one configuration throughout: the default. [simulation.md](simulation.md) says what the model holds " +
		"and leaves out, [traces.md](traces.md) what the scenarios are.\n\n")
	commit := strings.TrimSuffix(p.at(), ",")
	fmt.Fprintf(&b, "- command: `%s`\n- commit: %s\n"+fingerprintOn+"%s\n- date: %s, %s long\n- machine: %s; %s at a "+
		"time\n- load of the machine: %s at the start, %s at the end; no figure but the times depends on it\n",
		p.command, commit, p.fingerprint, p.started.UTC().Format("2006-01-02 15:04 UTC"),
		time.Since(p.started).Round(time.Second), p.machine, render.Plural(p.parallel, "run"), p.load, host.Load())
	fmt.Fprintf(&b, "- %s; drawn worlds and held-aside shapes: numbers and seeds made from the commit, which the "+
		"parts name\n- limits: %d computed, %d taken from an earlier run of the same traces\n", seedWords(p.seeds),
		p.limits.computed, p.limits.taken)
	if r := p.runs; r.computed+r.taken > 0 {
		fmt.Fprintf(&b, "- runs of peers: %d made, %d taken from an earlier run of code that plays them alike\n",
			r.computed, r.taken)
	}
	if r := p.drawn; r.computed+r.taken > 0 {
		fmt.Fprintf(&b, "- runs of baselines in drawn worlds: %d made, %d taken from an earlier run of code that "+
			"plays them alike\n", r.computed, r.taken)
	}
	for _, m := range p.missing {
		fmt.Fprintf(&b, "- **left out**: part %s, %s: %s\n", m.part.name, m.part.title, m.why)
	}
	met, of := 0, 0
	fmt.Fprintf(&b, "\n%s\n%s\n", row([]string{"part", "what", "goals met"}), row([]string{"---", "---", "---:"}))
	for _, x := range p.played {
		title := x.part.title
		if strings.Contains(x.text, onlySome) {
			title += " (**only some**)"
		}
		b.WriteString(row([]string{x.part.name, title, fmt.Sprintf("%d of %d", x.met, x.of)}) + "\n")
		met, of = met+x.met, of+x.of
	}
	b.WriteString(row([]string{"", "all that were played", fmt.Sprintf("%d of %d", met, of)}) + "\n")
	for _, x := range p.played {
		b.WriteString("\n" + strings.TrimRight(x.text, "\n") + "\n")
	}
	return b.String()
}

// seedWords names seeds, as in "seeds 6 to 10".
func seedWords(seeds []uint64) string {
	if n := len(seeds); n > 2 && seeds[n-1]-seeds[0] == uint64(n-1) {
		return fmt.Sprintf("seeds %d to %d", seeds[0], seeds[n-1])
	}
	var words []string
	for _, s := range seeds {
		words = append(words, fmt.Sprint(s))
	}
	if len(words) == 1 {
		return "seed " + words[0]
	}
	return "seeds " + strings.Join(words, ", ")
}

// span is a time of so many seconds as people write it.
func span(seconds float64) string { return render.Seconds(seconds) }

// number is short, and exact where it is small.
func number(v float64) string {
	if math.Abs(v) >= 100 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func machine() string {
	return fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
