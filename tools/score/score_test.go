package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/worlds"
)

func tiny(name, spec string, latency time.Duration) trace.Scenario {
	return trace.Scenario{Name: name, Spec: spec, Objective: muster.Objective{Latency: latency, Quantile: 0.99},
		Boot: time.Minute, Slots: 1, Max: 50}
}

// weak computes a limit that is weak, in no time.
func weak(p *contest.Prepared) error {
	f, err := limit.Read(limit.Problem{Trace: p.Trace, Latency: p.Event.Objective.Latency, Quantile: 0.99,
		Boot: p.Event.World.Boot.Mean, Slots: 1})
	if err == nil {
		p.Limits = limit.Bounds{Prescient: f.Work(), Causal: f.Rush(limit.Causal)}
	}
	return err
}

// tinyScore plays every part in a moment: one seed, small scenarios, few peers and settings.
func tinyScore(t *testing.T) *score {
	t.Helper()
	limits, err := openLimits(filepath.Join(t.TempDir(), "limits.json"))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := openStore[sim.Result]("")
	if err != nil {
		t.Fatal(err)
	}
	s := &score{
		arena: newArena(t.Context(), 2, limits, runs, io.Discard), ctx: t.Context(), seeds: []uint64{6},
		design: []uint64{1}, fresh: []uint64{99},
		shapes: []contest.Event{shape("two bursts", func(seed uint64) (trace.Trace, error) {
			a, err := trace.Generate("burst:size=5,service=10s", seed)
			return merged(a, ramp(seed, 0.01, 0.2, 5*time.Minute, 10*time.Second)), err
		}, 5*time.Minute, time.Minute, 1)},
		scenarios: map[string][]trace.Scenario{},
		jump:      tiny("jump", "drift:rate=0.2,service=5s,to=40s,at=3m,duration=6m", 5*time.Minute),
	}
	s.starts, s.strata = starts()[:3], 4
	limits.compute = weak
	for _, p := range suiteParts() {
		s.scenarios[p] = []trace.Scenario{
			tiny("tiny", "poisson:rate=0.2,duration=6m,service=10s", 5*time.Minute), tiny("tiny-hard",
				"poisson:rate=0.5,duration=6m,service=4s,cv=0", 20*time.Second)}
	}
	for _, name := range []string{"keda-tuned", "s3"} {
		c, err := contest.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Sweep = c.Sweep[:3]
		s.peers = append(s.peers, c)
	}
	s.drawing = drawing{numbers: []uint64{1, 2, 3}, drawnFrom: "made by hand", tuning: []uint64{4, 5}, draw: tinyWorld,
		named: []worlds.Named{
			{Name: "one burst", Found: "too much",
				Event: contest.Scenario(tiny("one burst", "burst:size=5,service=10s", 5*time.Minute)), Least: 1,
				MostPeak: 50}}}
	if s.drawnRuns, err = openStore[worlds.Outcome](""); err != nil {
		t.Fatal(err)
	}
	if s.oracles, err = openStore[limit.Schedule](""); err != nil {
		t.Fatal(err)
	}
	s.page = begin(options{parallel: 2}, s, "c0ffee", true)
	return s
}

// tinyWorld is a world of a few minutes, by the number: the first is a burst, the others have more and more messages.
func tinyWorld(number uint64) worlds.World {
	spec := fmt.Sprintf("poisson:rate=%g,duration=6m,service=10s,cv=0.5", 0.1*float64(number))
	if number == 1 {
		spec = "burst:size=5,service=10s"
	}
	e := contest.Scenario(tiny(fmt.Sprintf("world %d", number), spec, 5*time.Minute))
	return worlds.World{Number: number, Event: e, Shape: worlds.Poisson, Mean: 10, Tail: 20, Boot: 60, Latency: 300,
		Load: float64(number), Length: 360, Slots: 1, Messages: 100, Told: "none"}
}

// named returns the part of a name.
func named(t *testing.T, name string) part {
	t.Helper()
	for _, p := range parts() {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("there is no part %s", name)
	return part{}
}

func TestEveryPartFindsSomethingToJudge(t *testing.T) {
	s := tinyScore(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "lora.csv")
	if err := os.WriteFile(path, []byte("arrival_s,service_s\n0,20\n100,30\n400,10\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := known()[3]
	r.event.Trace = func(uint64) (trace.Trace, error) { return trace.Open(path, trace.Options{}) }
	s.real = []recorded{r}
	page := filepath.Join(dir, "quality.md")
	if err := s.play(parts(), page); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	for _, want := range []string{"c0ffee, with changes that are not committed", "seed 6", "seed 99", "| tiny |",
		"| tiny-hard |", "tiny-hard with a warm pool: in time", "burst-50s, stated duration x 0.5",
		"lose-samples=0.3: in time lost", "| lora | 5m0s |", "| two bursts |", "keda-tuned",
		"**Only some are played**: 2 of 15, tiny, tiny-hard.",
		"**Only some are played**: 3 worlds, and not 300.", "3 worlds, made by hand.", "| one burst |",
		"told nothing: in time"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, p := range parts() {
		_, after, _ := strings.Cut(text, "\n## "+p.name+". ")
		mine, _, _ := strings.Cut(after, "\n## ")
		if !strings.Contains(mine, "| what | goal | found | met |") {
			t.Errorf("part %s judges nothing:\n%s", p.name, mine)
		}
	}
	if strings.Contains(text, "left out") || strings.Contains(text, "NaN") || strings.Contains(text, "broken") {
		t.Errorf("the page leaves something out, has a figure that is none, or says that a promise was broken:\n%s",
			text)
	}
}

// The race leaves out runs, and must find what trying everything finds.
func TestTheRaceFindsWhatHindsightFinds(t *testing.T) {
	s := tinyScore(t)
	s.design = []uint64{1, 2, 3}
	names := []string{"keda-tuned", "s3", "nomad"}
	s.peers = nil
	for _, name := range names {
		c, err := contest.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Sweep = c.Sweep[:5]
		s.peers = append(s.peers, c)
	}
	for _, x := range s.scenarios["a"] {
		e := contest.Told(contest.Scenario(x))
		want, err := contest.Hindsight(t.Context(), e, s.peers, s.design, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := s.made
		got, err := s.tune(e, []float64{0.99})
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if got[i].peer.Value != w.Value {
				t.Errorf("%s on %s: found the setting %g, trying all finds %g", names[i], x.Name, got[i].peer.Value,
					w.Value)
			}
		}
		if made, all := s.made-before, 3*5*3; made >= all {
			t.Errorf("%s: found %d runs, want fewer than all %d", x.Name, made, all)
		}
	}
}

func TestChoosingScenarios(t *testing.T) {
	all := len(trace.Scenarios())
	for _, x := range []struct {
		list       string
		a, b, d, f int
		fault      string
	}{
		{"", all, all, all, all, ""},
		{"spikes-300,tree-6x3", 2, 2, 2, 2, ""},
		{"b:spikes-300,f:tree-6x3,f:burst-25s", all, 1, all, 2, ""},
		{"spike-300", 0, 0, 0, 0, "no scenario"},
		{"c:burst-25s", 0, 0, 0, 0, "a, b, d, f"},
	} {
		got, err := choose(x.list)
		if x.fault != "" {
			if err == nil || !strings.Contains(err.Error(), x.fault) {
				t.Errorf("%q: found the error %v, want one that says %q", x.list, err, x.fault)
			}
			continue
		}
		if err != nil || len(got["a"]) != x.a || len(got["b"]) != x.b || len(got["d"]) != x.d || len(got["f"]) != x.f {
			t.Errorf("%q: found %d, %d, %d and %d scenarios, %v", x.list, len(got["a"]), len(got["b"]), len(got["d"]),
				len(got["f"]), err)
		}
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"-only", "a,z"}, "box and a to h"},
		{[]string{"-worlds", "0"}, "allowed is 1 to 100000"},
		{[]string{"-numbers", "9-7"}, "write a range"},
		{[]string{"-numbers", "some"}, "write a range"},
		{[]string{"-numbers", "100010-100030"}, "tuned on"},
		{[]string{"-seeds", "5-7"}, "tuned on"},
		{[]string{"-seeds", "9-7"}, "ranges"},
		{[]string{"-parallel", "0"}, "1 to 256"},
		{[]string{"-recordings", "aapl"}, "-traces"},
		{[]string{"-traces", "/nowhere"}, "no such file"},
		{[]string{"more"}, "flags alone"},
	} {
		err := run(context.Background(), append(x.args, "-commit", "x", "-cache", "", "-page", ""), io.Discard,
			io.Discard)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: found the error %v, want one that says %q", x.args, err, x.want)
		}
	}
}

func TestAPageSaysWhatWasNotPlayed(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-only", "c", "-seeds", "6", "-commit", "x", "-cache", "", "-page", "",
		"-scenarios", "b:spikes-300"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`make score SCORE=\"-only c -scenarios b:spikes-300 -seeds 6\"`",
		"**left out**: part box, ", "**left out**: part a, ", "**left out**: part h, ", "## c. One burst",
		"Played at commit x on "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page does not say %q:\n%s", want, out.String())
		}
	}
}

// A long run is made in pieces: parts that were played before stay on the page.
func TestAddingKeepsWhatWasPlayed(t *testing.T) {
	s := tinyScore(t)
	s.page.dirty = false
	if err := s.play([]part{named(t, "e")}, filepath.Join(t.TempDir(), "page.md")); err != nil {
		t.Fatal(err)
	}
	before := s.page.text()
	_, section, _ := strings.Cut(before, "\n## e. ")
	if section == "" {
		t.Fatalf("part e is not on the page:\n%s", before)
	}
	k := kept(named(t, "e"), "## e. "+section)
	if made := s.page.played[0]; k.met != made.met || k.of != made.of || k.of == 0 {
		t.Errorf("read back, %d of %d goals are met; written were %d of %d", k.met, k.of, made.met, made.of)
	}
	other := tinyScore(t)
	other.page.put(k)
	if after := other.page.text(); !strings.Contains(after, strings.TrimSpace(section)) ||
		strings.Contains(after, "left out**: part e") {
		t.Errorf("the part changed on its way:\n%s", after)
	}
}

func TestAddingRefusesAPageOfOtherCode(t *testing.T) {
	for _, x := range []struct{ name, page, want string }{
		{"no page", "", "no such file"},
		{"no fingerprint", "# Quality\n- commit: abc\n", "no fingerprint"},
		{"not committed", "# Quality\n- commit: abc, with changes that are not committed\n", "nobody committed"},
		{"other decisions", "# Quality\n- commit: abc\n- decisions: 0123\n", "decides otherwise"},
	} {
		s := tinyScore(t)
		path := filepath.Join(t.TempDir(), "page.md")
		if x.page != "" {
			if err := os.WriteFile(path, []byte(x.page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.page.keep(path, nil); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: found the error %v, want one that says %q", x.name, err, x.want)
		}
	}
}

func TestLimitsAreKeptForTheSameProblemAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	of := func(latency time.Duration, seed uint64) *limitFile {
		f, err := openLimits(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := contest.Prepare(contest.Told(contest.Scenario(tiny("tiny", "burst:size=3,service=10s,cv=0.5",
			latency))), seed)
		if err != nil {
			t.Fatal(err)
		}
		f.compute = weak
		fresh, err := f.of(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := weak(&p); err != nil {
			t.Fatal(err)
		}
		if fresh.Prescient.WorkerSeconds != p.Limits.Prescient.WorkerSeconds ||
			fresh.Causal.WorkerSeconds != p.Limits.Causal.WorkerSeconds {
			t.Errorf("found %v, computing it gives %v", fresh, p.Limits)
		}
		if err := f.write(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, x := range []struct {
		name     string
		latency  time.Duration
		seed     uint64
		computed int
	}{{"first", 5 * time.Minute, 6, 1}, {"again", 5 * time.Minute, 6, 0}, {"another objective", 4 * time.Minute, 6,
		1}, {"another trace", 5 * time.Minute, 7, 1}} {
		if f := of(x.latency, x.seed); f.computed != x.computed || f.taken != 1-x.computed {
			t.Errorf("%s: found %d computed and %d taken, want %d computed", x.name, f.computed, f.taken, x.computed)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openLimits(path); err == nil || !strings.Contains(err.Error(), "remove") {
		t.Errorf("found the error %v for a broken file, want what to do", err)
	}
}

func TestRunsOfPeersAreKeptForTheSameCodeAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "peers.json")
	for _, x := range []struct {
		name, print string
		of          int
		seed        uint64
		made, taken int
	}{
		{"nothing is kept yet", "a", 0, 6, 1, 0}, {"the same run", "a", 0, 6, 0, 1}, {"other code", "b", 0, 6, 1, 0},
		{"another seed", "a", 0, 7, 1, 0},
		{"another peer", "a", 1, 6, 1, 0}, {"no code known", "", 0, 6, 0, 0},
	} {
		s := tinyScore(t)
		var err error
		if s.runs, err = openStore[sim.Result](path); err != nil {
			t.Fatal(err)
		}
		s.peersPrint = x.print
		e := contest.Told(contest.Scenario(tiny("tiny", "burst:size=3,service=10s,cv=0.5", 5*time.Minute)))
		o, err := s.run(e, s.peers[x.of], x.seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.runs.write(); err != nil {
			t.Fatal(err)
		}
		p, err := s.prepared(e, x.seed)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.simulate(p, s.peers[x.of])
		if err != nil {
			t.Fatal(err)
		}
		if s.runs.computed != x.made || s.runs.taken != x.taken || !reflect.DeepEqual(o.Result, again.Result) {
			t.Errorf("%s: found %d made, %d taken and %+v, want %d, %d and %+v", x.name, s.runs.computed, s.runs.taken,
				o.Result, x.made, x.taken, again.Result)
		}
	}
}

func TestShapesAreRescuableAndFollowTheCommit(t *testing.T) {
	if slices.Equal(freshSeeds("a"), freshSeeds("b")) || !slices.Equal(freshSeeds("a"), freshSeeds("a")) {
		t.Error("seeds must come from the commit and from nothing else")
	}
	s := tinyScore(t)
	names := map[string]bool{}
	for _, x := range trace.Scenarios() {
		names[x.Spec] = true
	}
	for _, e := range shapes() {
		c, err := s.measure(e, []uint64{1, 2})
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if c.slack <= 0 || names[e.Name] || c.attainable < 0.99 {
			t.Errorf("%s: found a slack ratio of %.2f and %.4f attainable, want one above 0 and nearly all", e.Name,
				c.slack, c.attainable)
		}
		t.Logf("%s: k %.2f, load %s", e.Name, c.slack, c.load())
	}
}

func TestTheMostAtOnce(t *testing.T) {
	at := func(arrival, service time.Duration) trace.Message {
		return trace.Message{Arrival: arrival, Service: service}
	}
	for _, x := range []struct {
		name string
		of   []trace.Message
		want int
	}{
		{"one after the other", []trace.Message{at(0, 5), at(5, 5), at(10, 5)}, 1},
		{"two at once", []trace.Message{at(0, 5), at(4, 5), at(8, 5)}, 2},
		{"a long one", []trace.Message{at(0, 50), at(4, 1), at(8, 1), at(8, 1)}, 3},
	} {
		if got, err := mostAtOnce(trace.Of("t", x.of...)); err != nil || got != x.want {
			t.Errorf("%s: found %d, %v; want %d", x.name, got, err, x.want)
		}
	}
}

// Two runs of the same code have one fingerprint; other runs have another one.
func TestTheFingerprintIsOfWhatRunsComeTo(t *testing.T) {
	prints := map[uint64]string{}
	for _, seed := range []uint64{1, 1, 2} {
		s := tinyScore(t)
		s.design = []uint64{seed}
		found, err := s.fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		if before := prints[seed]; before != "" && before != found {
			t.Errorf("seed %d: found %s, then %s", seed, before, found)
		}
		prints[seed] = found
	}
	if prints[1] == prints[2] {
		t.Errorf("runs with other seeds must have another fingerprint; both have %s", prints[1])
	}
}

// The page of benchmarks shows each goal, and nothing else of it changes.
func TestTheGoalsStandOnThePageOfBenchmarks(t *testing.T) {
	s := tinyScore(t)
	if err := s.play([]part{named(t, "e")}, ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "benchmarks.md")
	const above = "# Benchmarks\n\n| what | goal | found | met |\n| --- | --- | --- | --- |\n| speed | much | more | " +
		"met |\n"
	if err := os.WriteFile(path, []byte(above+summaryOn+"\nold goals\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.page.summarize(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	below, isAbove := strings.CutPrefix(string(text), above)
	if !isAbove || strings.Contains(below, "old goals") || strings.Count(below, summaryOn) != 1 {
		t.Errorf("the page became:\n%s", text)
	}
	if n := strings.Count(below, "\n| e | "); n != s.page.played[0].of || n == 0 {
		t.Errorf("found %d goals of part e, want %d:\n%s", n, s.page.played[0].of, below)
	}
	if !strings.Contains(below, "| b | Peers tuned in hindsight |  |  | **left out**: ") {
		t.Errorf("what was left out must be said:\n%s", below)
	}
}
