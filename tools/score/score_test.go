package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/worlds"

	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/box"
	"github.com/muster-scale/muster/tools/score/prior"
	"github.com/muster-scale/muster/tools/score/scoretest"
)

// tinyScore plays every part in a moment: one seed, small scenarios, few peers and settings.
func tinyScore(t *testing.T) *score {
	t.Helper()
	limits, err := arena.OpenLimits(filepath.Join(t.TempDir(), "limits.json"))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := arena.OpenStore[scoring.Result]("")
	if err != nil {
		t.Fatal(err)
	}
	s := &score{
		Arena: arena.New(t.Context(), 2, limits, runs, io.Discard), ctx: t.Context(), seeds: []uint64{6},
		design: []uint64{1}, fresh: []uint64{99},
		shapes: []contest.Event{shape("two bursts", func(seed uint64) (trace.Trace, error) {
			a, err := trace.Generate("burst:size=5,service=10s", seed)
			return merged(a, ramp(seed, 0.01, 0.2, 5*time.Minute, 10*time.Second)), err
		}, 5*time.Minute, time.Minute, 1)},
		scenarios: map[string][]trace.Scenario{},
		jump:      scoretest.Tiny("jump", "drift:rate=0.2,service=5s,to=40s,at=3m,duration=6m", 5*time.Minute),
	}
	s.starts, s.strata = prior.Starts()[:3], 4
	limits.Compute = scoretest.Weak
	for _, p := range suiteParts() {
		s.scenarios[p] = []trace.Scenario{
			scoretest.Tiny("tiny", "poisson:rate=0.2,duration=6m,service=10s", 5*time.Minute),
			scoretest.Tiny("tiny-hard",
				"poisson:rate=0.5,duration=6m,service=4s,cv=0", 20*time.Second)}
	}
	s.peers = scoretest.Peers(t)
	s.drawn = &box.Box{Arena: s.Arena, Ctx: t.Context(), Peers: s.peers, Numbers: []uint64{1, 2, 3},
		DrawnFrom: "made by hand", Tuning: []uint64{4, 5}, Draw: scoretest.World, Named: []worlds.Named{
			{Name: "one burst", Found: "too much",
				Event:    contest.Scenario(scoretest.Tiny("one burst", "burst:size=5,service=10s", 5*time.Minute)),
				Least:    1,
				MostPeak: 50}}}
	if s.drawn.DrawnRuns, err = arena.OpenStore[worlds.Outcome](""); err != nil {
		t.Fatal(err)
	}
	if s.drawn.Oracles, err = arena.OpenStore[limit.Schedule](""); err != nil {
		t.Fatal(err)
	}
	s.page = begin(options{parallel: 2}, s, "c0ffee", true)
	return s
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
		{"not committed", "# Quality\n- commit: abc, with changes that are not committed\n", "uncommitted changes"},
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
