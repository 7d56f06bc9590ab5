package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/worlds"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/box"
	"github.com/muster-scale/muster/tools/score/report"
)

// The page docs/quality.md is written after every part, so that a run that is stopped leaves a page with the parts that
// it has finished. Other files of this package read the page again (keep.go, summary.go), by the sentences and table
// heads that are constants here.

// page is docs/quality.md while it is made. Parts are added one by one, played now or kept from an earlier page.
type page struct {
	// How the page was made: the command, the machine and its load at the start.
	command, machine, load string
	commit                 string
	// fingerprint stands for what the code decides.
	fingerprint  string
	dirty        bool
	started      time.Time
	parallel     int
	seeds, fresh []uint64
	// some says of a part which scenarios it was played on, where that are not all.
	some map[string]string
	// The stores tell how much was computed and how much was taken from the cache.
	limits *arena.Limits
	runs   *arena.Store[scoring.Result]
	drawn  *arena.Store[worlds.Outcome]

	// played are the parts on the page, in its order; missing are the others.
	played  []played
	missing []absent
}

// begin makes an empty page with all that its head needs, and notes which parts are played on some of their scenarios
// only.
func begin(o options, s *score, commit string, dirty bool) page {
	p := page{
		command: o.command(), machine: machine(), load: host.Load(), commit: commit, dirty: dirty, started: time.Now(),
		parallel: o.parallel, seeds: s.seeds, limits: s.Limits, runs: s.Runs, drawn: s.drawn.DrawnRuns,
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
	// Fewer worlds than usual make shares less certain.
	if n := len(s.drawn.Numbers); n < box.WorldCount {
		p.some[box.Name] = fmt.Sprintf("%d worlds, and not %d", n, box.WorldCount)
	}
	// Without any recorded trace the part is left out, which is said elsewhere.
	if n, all := len(s.real), len(known()); n > 0 && n < all {
		p.some["g"] = fmt.Sprintf("%d of %d recorded traces", n, all)
	}
	return p
}

// command is the command that makes the page again: make score with the given options. Paths of this machine are
// replaced.
func (o options) command() string {
	words := o.words()
	if words == "" {
		return "make score"
	}
	return `make score SCORE="` + words[1:] + `"`
}

// words are the given options, each with a space before it. Those that change no figure are left out.
func (o options) words() (text string) {
	if o.only != "" {
		text += " -only " + o.only
	}
	if o.scenarios != "" {
		text += " -scenarios " + o.scenarios
	}
	if o.numbers != "" {
		text += " -numbers " + o.numbers
	} else if o.worlds != box.WorldCount && o.worlds != 0 {
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

// absent is a part that is not on the page, with the reason.
type absent struct {
	part part
	why  string
}

// leaveOut notes that a part is not on the page, until it is added.
func (p *page) leaveOut(x part, why string) { p.missing = append(p.missing, absent{x, why}) }

// add puts the section of a part on the page, with its goals, tables and notes.
func (p *page) add(x part, found report.Section, took string) {
	met := 0
	var b strings.Builder
	fmt.Fprintf(&b, "## %s. %s\n\n%s\n\n%s%s; load of the machine %s; it took %s.\n\n", x.name, x.title, found.About,
		playedOn,
		p.when(), host.Load(), took)
	if some := p.some[x.name]; some != "" {
		fmt.Fprintf(&b, "%s%s.\n\n", onlySome, some)
	}
	if len(found.Goals) > 0 {
		goals := report.Table{Head: goalsHead()}
		for _, g := range found.Goals {
			said := "met"
			if g.Met {
				met++
			} else {
				said = "**not met**: " + g.Why
			}
			goals.Add(g.What, g.Target, g.Found, said)
		}
		goals.Write(&b, false)
	} else {
		b.WriteString("There was nothing to judge.\n\n")
	}
	for _, t := range found.Tables {
		t.Write(&b, true)
	}
	for _, n := range found.Notes {
		b.WriteString(n + "\n\n")
	}
	p.put(played{x, b.String(), met, len(found.Goals)})
}

// goalsOn is the first line of a table of goals. kept and summary find goals by it, so it must not occur elsewhere.
const goalsOn = "| what | goal | found | met |"

// goalsHead is the head of a table of goals, as in goalsOn.
func goalsHead() []string { return []string{"what", "goal", "found", "met"} }

// onlySome begins the sentence that says which scenarios or traces were played. Such a part is marked in the overview.
const onlySome = "**Only some are played**: "

// playedOn begins the sentence that says when a part was played.
const (
	playedOn      = "Played at commit "
	fingerprintOn = "- decisions: "
)

// when says at which commit and time a part was played.
func (p *page) when() string {
	return fmt.Sprintf("%s on %s", p.at(), time.Now().UTC().Format("2006-01-02 15:04 UTC"))
}

// at is the commit, and whether there were changes beside it.
func (p *page) at() string {
	if p.dirty {
		return p.commit + ", with changes that are not committed,"
	}
	return p.commit
}

// put puts a part on the page in the order of parts, in place of an earlier one of the same name.
func (p *page) put(x played) {
	same := func(name string) bool { return name == x.part.name }
	// A part that is played or kept is not missing.
	p.missing = slices.DeleteFunc(p.missing, func(m absent) bool { return same(m.part.name) })
	p.played = slices.DeleteFunc(p.played, func(y played) bool { return same(y.part.name) })
	p.played = append(p.played, x)
	slices.SortFunc(p.played, func(x, y played) int { return cmp.Compare(placeOf(x.part), placeOf(y.part)) })
}

// placeOf is where a part stands on the page.
func placeOf(x part) int {
	return slices.IndexFunc(parts(), func(y part) bool { return x.name == y.name })
}

// write writes the page in its present state; an empty path writes nothing.
func (p *page) write(path string) error {
	if path == "" {
		return nil
	}
	return os.WriteFile(path, []byte(p.text()), 0o644)
}

// text returns the page in its present state: the head, an overview of goals, and the parts.
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
		p.limits.Computed, p.limits.Taken)
	if r := p.runs; r.Computed+r.Taken > 0 {
		fmt.Fprintf(&b, "- runs of peers: %d made, %d taken from an earlier run of code that plays them alike\n",
			r.Computed, r.Taken)
	}
	if r := p.drawn; r.Computed+r.Taken > 0 {
		fmt.Fprintf(&b, "- runs of baselines in drawn worlds: %d made, %d taken from an earlier run of code that "+
			"plays them alike\n", r.Computed, r.Taken)
	}
	// A part that is left out is named, so that a short page does not look complete.
	for _, m := range p.missing {
		fmt.Fprintf(&b, "- **left out**: part %s, %s: %s\n", m.part.name, m.part.title, m.why)
	}
	met, of := 0, 0
	fmt.Fprintf(&b, "\n%s\n%s\n", report.Row([]string{"part", "what", "goals met"}), report.Row([]string{"---", "---",
		"---:"}))
	for _, x := range p.played {
		title := x.part.title
		// Kept parts have no other sign of it.
		if strings.Contains(x.text, onlySome) {
			title += " (**only some**)"
		}
		b.WriteString(report.Row([]string{x.part.name, title, fmt.Sprintf("%d of %d", x.met, x.of)}) + "\n")
		// The last row is the sum.
		met, of = met+x.met, of+x.of
	}
	b.WriteString(report.Row([]string{"", "all that were played", fmt.Sprintf("%d of %d", met, of)}) + "\n")
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

// machine describes this machine.
func machine() string {
	return fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
