// Command score measures how good decisions are. It plays the policy deadline in its default configuration against the
// goals of the project and writes docs/quality.md, with every goal, met or not. make score runs it.
//
// The goals are in ten parts, each of them a function that plays runs and returns a section of the page:
//
//	box     worlds drawn at random                  tools/score/box
//	a, d    scenarios, by whether a launch helps    parts_kind.go
//	b       other autoscalers, tuned in hindsight   parts_kind.go
//	c       one burst                               parts_world.go, guess.go
//	e, f    drift; bad signals and lost workers     parts_world.go
//	g       recorded traces                         recordings.go
//	h       traces that are in no scenario          shapes.go
//	prior   bursts of unknown duration              tools/score/prior
//
// All parts make their runs in one arena (tools/score/arena), which makes each run once, whatever parts need it, and
// keeps costly results in a cache. goals.go judges figures, page.go writes the page, tools/score/report has the tables.
//
// Three rules keep the figures honest. Seeds that are judged are never those that something was tuned on. Some worlds
// and seeds are made from the commit, so nobody can choose constants by them. And pages may only be joined when they
// were played by code that decides alike: a fingerprint of many runs says so (fingerprint.go).
//
// The words: a told policy knows the true mean processing duration and the true boot time, an untold one learns both. A
// peer is another autoscaler. A limit is a lower bound of the cost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/worlds"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/box"
	"github.com/muster-scale/muster/tools/score/prior"
	"github.com/muster-scale/muster/tools/score/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "score:", err)
		os.Exit(1)
	}
}

// score is one run of all parts. It is made once by newScore and used by one goroutine; the arena makes the runs side
// by side.
type score struct {
	*arena.Arena
	ctx context.Context
	// scenarios are those of each part, judged with the seeds. peers are tuned on the design seeds, and nowhere else.
	scenarios     map[string][]trace.Scenario
	seeds, design []uint64
	peers         []contest.Contender
	// drawn is part box: its worlds and its caches.
	drawn *box.Box
	// jump is the scenario whose work begins to take longer.
	jump trace.Scenario
	// shapes are traces of no scenario, judged with the fresh seeds; real are recorded traces.
	shapes []contest.Event
	fresh  []uint64
	// starts are the bursts of part prior, each played with so many strata of the prior.
	starts []prior.Start
	strata int
	real   []recorded
	page   page
}

// part is one part of the page: the goals that are judged together.
type part struct {
	// name selects the part with -only and is its letter on the page; title is its heading.
	name, title string
	play        func(*score) (report.Section, error)
}

// parts are the goals, in the order of the page.
func parts() []part {
	return []part{
		{box.Name, "Worlds drawn at random", func(s *score) (report.Section, error) { return s.drawn.Play() }},
		{"a", "Scenarios in which a launch still saves a message", (*score).rescuable},
		{"b", "Peers tuned in hindsight", (*score).peersInHindsight},
		{"c", "One burst", (*score).bursts},
		{"d", "Scenarios in which no launch saves a message", (*score).unrescuable},
		{"e", "Work that begins to take longer", (*score).drift},
		{"f", "Bad signals and lost workers", (*score).badSignals},
		{"g", "Recorded traces", (*score).recordings},
		{"h", "Shapes held aside", (*score).heldAside},
		{prior.Name, "Bursts of unknown duration", (*score).untold},
	}
}

// options are the command line. Lists are kept as texts until newScore reads them.
type options struct {
	only, scenarios, seeds, traces, recordings, page, benchmarks, outcomes, cache, commit, numbers string
	// parallel is how many runs are made at a time, worlds how many are drawn.
	parallel, worlds int
	// draws is how often each of these is played.
	draws int
	// add are pages, separated by commas.
	add string
}

// read reads the command line and checks numbers; names are checked where they are used.
func read(args []string, out io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.only, "only", "", "play these parts alone, as in a,c,e; by default all, and none with none, "+
		"to join pages by -add")
	flags.StringVar(&o.scenarios, "scenarios", "", "play parts a, b, d and f on these scenarios alone, as in "+
		"spikes-300,tree-6x3; a part in front is for that part, as in b:spikes-300,f:tree-6x3")
	flags.IntVar(&o.worlds, "worlds", box.WorldCount,
		"how many worlds part box draws; their numbers are made from the "+
			"commit")
	flags.IntVar(&o.draws, "draws", box.DrawCount, "how often part box plays each world; the mean counts")
	flags.StringVar(&o.numbers, "numbers", "", "the numbers of the worlds of part box, as in 1-300, in place of "+
		"those made from the commit")
	flags.StringVar(&o.seeds, "seeds", "6-10", "the seeds that are judged, as in 6-10 or 6,7; peers are tuned on 1-5")
	flags.StringVar(&o.traces, "traces", "", "the directory of the recorded traces; part g is left out without it")
	flags.StringVar(&o.recordings, "recordings", "", "of the recorded traces play these alone, as in aapl,lora")
	flags.StringVar(&o.page, "page", "docs/quality.md", "where the page is written; empty prints it")
	flags.StringVar(&o.benchmarks, "benchmarks", "docs/benchmarks.md", "the page that the goals are put on as well, "+
		"when -page is given; empty puts them nowhere")
	flags.StringVar(&o.outcomes, "outcomes", "docs/quality-worlds.tsv", "what baselines did in the worlds of part "+
		"box, if it is of the same code: they play only in further worlds, which are added; empty keeps none")
	flags.StringVar(&o.add, "add", "", "keep the parts of these pages that are not played now, as in "+
		"docs/quality.md; they must be of the same code")
	flags.StringVar(&o.cache, "cache", filepath.Join(os.TempDir(), "muster-score"), "a directory that keeps computed "+
		"limits and runs of peers for the next time; empty keeps none")
	flags.StringVar(&o.commit, "commit", "", "the commit that the fresh seeds and the numbers of worlds come from; "+
		"by default the one that is checked out")
	flags.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "how many runs at a time; the figures do not depend "+
		"on it")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("found %q, want flags alone", flags.Args())
	}
	if o.parallel < 1 || o.parallel > 256 {
		return o, fmt.Errorf("-parallel: found %d, allowed is 1 to 256", o.parallel)
	}
	if o.worlds < 1 || o.worlds > box.MostDrawn {
		return o, fmt.Errorf("-worlds: found %d, allowed is 1 to %d", o.worlds, box.MostDrawn)
	}
	if o.draws < 1 || o.draws > box.MostTimes {
		return o, fmt.Errorf("-draws: found %d, allowed is 1 to %d", o.draws, box.MostTimes)
	}
	return o, nil
}

// run plays the wanted parts and writes the page. The fingerprint comes first: it decides what may be taken from the
// cache and which pages may be joined. A run that fails still keeps what it has computed, because hours may be in it.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := read(args, log)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	wanted, err := pick(o.only)
	if err != nil {
		return err
	}
	if len(wanted) > 0 { // joining pages needs no cache
		claim, err := arena.Claim(o.cache)
		if err != nil {
			return err
		}
		defer claim.Close() // of no file, it does nothing
	}
	s, err := newScore(ctx, o, log)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // runs are short and leave much behind
	if s.page.fingerprint, err = s.fingerprint(); err != nil {
		return err
	}
	// Before the runs of peers are taken from the cache.
	if listed(wanted, part{name: box.Name}) && o.cache+o.outcomes != "" {
		if s.drawn.Print, err = s.fingerprintOfBaselines(); err != nil {
			return err
		}
	}
	if o.cache != "" && len(wanted) > 0 {
		if s.PeersPrint, err = s.fingerprintOfPeers(); err != nil {
			return err
		}
	}
	for _, path := range strings.FieldsFunc(o.add, func(r rune) bool { return r == ',' }) {
		if err := s.page.keep(path, wanted); err != nil {
			return err
		}
	}
	if err := s.play(wanted, o.page); err != nil {
		return errors.Join(err, s.keepFound())
	}
	// The goals also go on the page of benchmarks, which people read first.
	if o.page != "" {
		return s.page.summarize(o.benchmarks)
	}
	_, err = io.WriteString(out, s.page.text())
	return err
}

// pick returns the parts of a list of names, all for an empty list.
func pick(list string) ([]part, error) {
	if list == "" {
		return parts(), nil
	}
	var all []part
	if list == "none" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	for _, n := range names {
		if !slices.ContainsFunc(parts(), func(p part) bool { return p.name == n }) {
			return nil, fmt.Errorf("-only: there is no part %q; allowed are prior, box and a to h, separated by commas",
				n)
		}
	}
	for _, p := range parts() {
		if slices.Contains(names, p.name) {
			all = append(all, p)
		}
	}
	return all, nil
}

// newScore checks the options, draws seeds and worlds, and opens the caches. It plays nothing.
func newScore(ctx context.Context, o options, log io.Writer) (*score, error) {
	s := &score{ctx: ctx, design: []uint64{1, 2, 3, 4, 5}, shapes: shapes(), starts: prior.Starts(),
		strata: prior.DefaultStrata}
	var err error
	s.jump, _ = trace.FindScenario(driftName)
	if s.seeds, err = seedList(o.seeds); err != nil {
		return nil, err
	}
	// A peer that is judged on the seeds it was tuned on would look better than it is.
	for _, n := range s.seeds {
		if slices.Contains(s.design, n) {
			return nil, fmt.Errorf("-seeds: found %d, which peers are tuned on; give others than 1 to 5", n)
		}
	}
	if s.scenarios, err = choose(o.scenarios); err != nil {
		return nil, err
	}
	// Every other autoscaler is a peer; Muster's own policies are not.
	for _, c := range contest.All() {
		if c.Peer {
			s.peers = append(s.peers, c)
		}
	}
	if s.real, err = recordings(o.traces, o.recordings); err != nil {
		return nil, err
	}
	commit, dirty, err := checkedOut(ctx, o.commit)
	if err != nil {
		return nil, err
	}
	s.fresh = freshSeeds(commit)
	if s.drawn, err = box.New(o.numbers, o.worlds, commit); err != nil {
		return nil, err
	}
	// An empty path keeps nothing.
	keep := func(name string) string {
		if o.cache == "" {
			return ""
		}
		return filepath.Join(o.cache, name)
	}
	limits, err := arena.OpenLimits(keep("limits.json"))
	if err != nil {
		return nil, err
	}
	runs, err := arena.OpenStore[scoring.Result](keep("peers.json"))
	if err != nil {
		return nil, err
	}
	if s.drawn.DrawnRuns, err = arena.OpenStore[worlds.Outcome](keep("worlds.json")); err != nil {
		return nil, err
	}
	if s.drawn.Oracles, err = arena.OpenStore[limit.Schedule](keep("oracles.json")); err != nil {
		return nil, err
	}
	s.Arena = arena.New(ctx, o.parallel, limits, runs, log)
	// The box shares the arena, and so its turns and its caches.
	s.drawn.Arena, s.drawn.Ctx, s.drawn.Peers, s.drawn.Draws = s.Arena, ctx, s.peers, o.draws
	s.drawn.Outcomes = o.outcomes
	s.page = begin(o, s, commit, dirty)
	return s, nil
}

// choose returns the scenarios of each part: the named ones, for all parts or for one (PART:NAME), and all scenarios
// where none is named.
func choose(list string) (map[string][]trace.Scenario, error) {
	chosen := map[string][]trace.Scenario{}
	if list != "" {
		for _, entry := range strings.Split(list, ",") {
			// Without a part in front, the scenario is for all parts.
			where, name, one := strings.Cut(entry, ":")
			parts := []string{where}
			if !one {
				name, parts = entry, suiteParts()
			}
			x, ok := trace.FindScenario(name)
			if !ok {
				return nil, fmt.Errorf("-scenarios: there is no scenario %q; `muster trace --help` lists them", name)
			}
			for _, p := range parts {
				if !slices.Contains(suiteParts(), p) {
					return nil, fmt.Errorf("-scenarios: found %q, and the parts with scenarios are %s", entry,
						strings.Join(suiteParts(), ", "))
				}
				chosen[p] = append(chosen[p], x)
			}
		}
	}
	for _, p := range suiteParts() {
		if chosen[p] == nil {
			chosen[p] = trace.Scenarios()
		}
	}
	return chosen, nil
}

// suiteParts are the parts that go through the scenarios of the suite.
func suiteParts() []string { return []string{"a", "b", "d", "f"} }

// play plays parts and writes the page after each of them, so that a run that is stopped keeps its results. First every
// part that is not on the page yet is noted as left out; adding it removes the note.
func (s *score) play(wanted []part, path string) error {
	for _, p := range parts() {
		switch {
		case slices.ContainsFunc(s.page.played, func(k played) bool { return k.part.name == p.name }):
		// Parts that are kept from an earlier page never get here.
		case !slices.ContainsFunc(wanted, func(w part) bool { return w.name == p.name }):
			s.page.leaveOut(p, "it was not asked for")
		// The recorded traces are not part of the project.
		case p.name == "g" && len(s.real) == 0:
			s.page.leaveOut(p, "no directory of traces was given; see `-traces`")
		default:
			s.page.leaveOut(p, "the run was stopped before")
		}
	}
	for _, p := range wanted {
		if p.name == "g" && len(s.real) == 0 {
			continue
		}
		s.Say("%s: %s", p.name, p.title)
		began := time.Now()
		// Processor time is on the page, because the clock depends on the load of the machine.
		before, err := host.OwnTime()
		if err != nil {
			return err
		}
		// A part judges and makes its tables; nothing is written until it has returned.
		found, err := p.play(s)
		if err != nil {
			return fmt.Errorf("part %s: %w", p.name, err)
		}
		after, err := host.OwnTime()
		if err != nil {
			return err
		}
		took := fmt.Sprintf("%s, with %s of processor time", time.Since(began).Round(time.Second),
			(after - before).Round(time.Second))
		s.Say("%s: done in %s", p.name, took)
		s.page.add(p, found, took)
		if err := errors.Join(s.keepFound(), s.page.write(path)); err != nil {
			return err
		}
	}
	return s.page.write(path)
}

// keepFound writes the caches.
func (s *score) keepFound() error { return s.drawn.KeepAll() }

// untold is part prior. It uses the first judged seed alone: its bursts have no random arrivals.
func (s *score) untold() (report.Section, error) {
	return prior.Part{Arena: s.Arena, Starts: s.starts, Strata: s.strata, Seed: s.seeds[0]}.Play()
}

// seedList reads numbers and ranges, as in 6-10,12.
func seedList(text string) ([]uint64, error) {
	var seeds []uint64
	for _, piece := range strings.Split(text, ",") {
		var from, to uint64
		n, _ := fmt.Sscanf(piece, "%d-%d", &from, &to)
		// A single number is a range of one.
		if n == 1 {
			to = from
		}
		if n == 0 || from > to || to-from >= 100 {
			return nil, fmt.Errorf("-seeds: found %q, write numbers and ranges of at most 100, as in 6-10,12", text)
		}
		for seed := from; seed <= to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}
