package trace_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/statistics"
)

// update writes the golden files anew: go test ./sim/trace -run Golden -update.
var update = flag.Bool("update", false, "write the golden files")

func generate(t testing.TB, spec string, seed uint64) []trace.Message {
	t.Helper()
	g, err := trace.Generate(spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := all(g)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s:\n%s", path, diff)
	}
}

// TestGoldenGenerators holds that a seed gives the same bytes on every platform and at any time: published figures
// refer to them. The digest is of the CSV file.
func TestGoldenGenerators(t *testing.T) {
	var b strings.Builder
	path := filepath.Join(t.TempDir(), "a.csv")
	specs := []string{"heavytail:law=pareto,duration=1h", "steady:rate=0.3,duration=10m",
		"diurnal:duration=30h,period=6h,swing=1"}
	for _, g := range trace.Generators() {
		specs = append(specs, g.Name)
	}
	slices.Sort(specs)
	for _, spec := range specs {
		for seed := range uint64(3) {
			g, err := trace.Generate(spec, seed)
			if err != nil {
				t.Fatal(err)
			}
			n, err := trace.Write(g, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s seed %d: %d messages, sha256 %.8x\n", spec, seed, n, sha256.Sum256(content))
			for _, line := range strings.SplitN(string(content), "\n", 5)[:4] {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	golden(t, "generators.golden", b.String())
}

// TestGeneratorsHaveTheMeansOfTheirSettings checks the mean over ten seeds; tolerances are four standard errors or
// more.
func TestGeneratorsHaveTheMeansOfTheirSettings(t *testing.T) {
	for _, c := range []struct {
		spec                   string
		messages, within       float64 // in the mean of a seed
		service, serviceWithin float64 // seconds
	}{
		{"steady:rate=2,duration=1h", 7200, 0, 10, 0.1},
		{"poisson:rate=2,duration=1h", 7200, 110, 10, 0.1},
		{"step:rate=1,to=10,at=600s,duration=1800s,service=10s,cv=1", 12600, 145, 10, 0.15},
		{"spike:rate=0.5,size=100,every=10m,at=5m,duration=1h", 2400, 60, 10, 0.15},
		{"diurnal:rate=0.5,duration=24h", 43200, 270, 10, 0.05},
		{"mmpp:rate=0,to=1,quiet=10s,busy=10s,duration=5h", 9000, 360, 10, 0.1},
		{"drift:rate=1,service=5s,to=40s,at=1h,duration=2h,cv=0", 7200, 110, 22.5, 0.3},
		{"heavytail:rate=1,duration=6h,service=8s,cv=4", 21600, 190, 8, 0.3},
		{"heavytail:rate=1,duration=6h,service=8s,cv=0.7,law=pareto", 21600, 190, 8, 0.06},
		{"sparse:load=0.1,service=15s,duration=240h", 5760, 100, 15, 0.2},
		{"burst:size=50,service=25s,cv=0", 50, 0, 25, 0},
		{"bimodal:rate=8,duration=1h", 28800, 220, 1.25, 0.01},
		{"tree:roots=200,every=1m,depth=3,fanout=2,most=1000,cv=0", 200 * 15, 450, 5, 0},
	} {
		messages, work := 0.0, 0.0
		for _, seed := range trace.Seeds() {
			g, err := trace.Generate(c.spec, seed)
			if err != nil {
				t.Fatal(err)
			}
			s, err := statistics.Measure(g, statistics.Goal{})
			if err != nil {
				t.Fatal(err)
			}
			messages += float64(s.Messages) / 10
			work += s.Service.WorkSeconds / 10
		}
		if math.Abs(messages-c.messages) > c.within || math.Abs(work/messages-c.service) > c.serviceWithin+1e-4 {
			t.Errorf("%s: %.0f messages of %.4f s, want %.0f of %v s", c.spec, messages, work/messages, c.messages,
				c.service)
		}
	}
}

// TestGeneratedMessagesKeepTheRules holds for any settings and seed: arrivals are in order and within the duration.
func TestGeneratedMessagesKeepTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom([]string{"steady", "poisson", "step", "spike", "diurnal", "workday", "mmpp", "drift",
			"heavytail", "bimodal"}).Draw(t, "generator")
		seconds := rapid.IntRange(1, 5000).Draw(t, "duration")
		rate := rapid.Float64Range(0.001, 2).Draw(t, "rate")
		spec := fmt.Sprintf("%s:duration=%ds,rate=%v", g, seconds, rate)
		source, err := trace.Generate(spec, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			if !strings.Contains(err.Error(), "found no message") {
				t.Fatal(err)
			}
			return
		}
		last := time.Duration(0)
		err = source.Each(func(m trace.Message) bool {
			if m.Arrival < last || m.Arrival > time.Duration(seconds)*time.Second || m.Service < 0 {
				t.Fatalf("%s: found %+v after %s", spec, m, last)
			}
			last = m.Arrival
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestOneSettingChangesOneThing holds that arrivals and services are drawn apart, so that policies can be compared on
// traces that differ in one thing.
func TestOneSettingChangesOneThing(t *testing.T) {
	arrivals := func(m []trace.Message) (all []time.Duration) {
		for _, m := range m {
			all = append(all, m.Arrival)
		}
		return all
	}
	services := func(m []trace.Message) (all []time.Duration) {
		for _, m := range m {
			all = append(all, m.Service)
		}
		return all
	}
	first := generate(t, "poisson:rate=1,duration=1h,service=10s,cv=0.5", 3)
	varied := generate(t, "poisson:rate=1,duration=1h,service=10s,cv=2", 3)
	if !slices.Equal(arrivals(first), arrivals(varied)) || slices.Equal(services(first), services(varied)) {
		t.Error("another variation of the service moves arrivals, or changes nothing")
	}
	faster := generate(t, "poisson:rate=2,duration=30m,service=10s,cv=0.5", 3)
	if !slices.Equal(services(first), services(faster)) {
		t.Error("another rate changes services")
	}
	for i, m := range faster {
		if d := m.Arrival - first[i].Arrival/2; d.Abs() > time.Microsecond {
			t.Fatalf("at twice the rate message %d comes at %s, want half of %s", i, m.Arrival, first[i].Arrival)
		}
	}
	other := generate(t, "poisson:rate=1,duration=1h,service=10s,cv=0.5", 4)
	if slices.Equal(arrivals(first), arrivals(other)[:min(len(first), len(other))]) {
		t.Error("another seed gives the same arrivals")
	}
	long := generate(t, "bimodal:rate=1,duration=1h,to=20s,cv=1", 3)
	longer := generate(t, "bimodal:rate=1,duration=1h,to=40s,cv=1", 3)
	for i := range long {
		if long[i].Class != longer[i].Class {
			t.Fatalf("another service changes the class of message %d", i)
		}
	}
}

func TestStepsSpikesAndDriftsAreWhereTheyAreSaidToBe(t *testing.T) {
	before, after := 0, 0
	for _, m := range generate(t, "step:rate=0,to=5,at=10m,duration=20m", 1) {
		if m.Arrival < 10*time.Minute {
			before++
		} else {
			after++
		}
	}
	if before != 0 || after < 2700 || after > 3300 {
		t.Errorf("step: found %d messages before and %d after, want none and about 3000", before, after)
	}
	at := map[time.Duration]int{}
	for _, m := range generate(t, "spike:rate=0,size=7,every=10m,at=5m,duration=25m", 1) {
		at[m.Arrival]++
	}
	if want := map[time.Duration]int{5 * time.Minute: 7, 15 * time.Minute: 7}; !cmp.Equal(at, want) {
		t.Errorf("spike: found %v, want %v", at, want)
	}
	for _, m := range generate(t, "drift:rate=1,at=10m,duration=20m,service=5s,to=40s,cv=0", 1) {
		if want := map[bool]time.Duration{true: 5 * time.Second,
			false: 40 * time.Second}[m.Arrival < 10*time.Minute]; m.Service != want {
			t.Fatalf("drift: found the service %s at %s, want %s", m.Service, m.Arrival, want)
		}
	}
	steady := generate(t, "steady:rate=10,duration=1s", 1)
	for i, m := range steady {
		if m.Arrival != time.Duration(i)*100*time.Millisecond {
			t.Errorf("steady: message %d comes at %s", i, m.Arrival)
		}
	}
	if len(steady) != 10 {
		t.Errorf("steady: found %d messages, want 10", len(steady))
	}
	night, noon := 0, 0
	for _, m := range generate(t, "diurnal:rate=1,swing=1,duration=24h", 1) {
		switch h := m.Arrival.Hours(); {
		case h < 1 || h >= 23:
			night++
		case h >= 11 && h < 13:
			noon++
		}
	}
	// Over two hours around the turn the rate is 1 -+ sin(pi/12)/(pi/12) of the mean: 82 and 14318 messages.
	if night > 130 || noon < 13800 || noon > 14800 {
		t.Errorf("diurnal: found %d messages around midnight and %d around noon, want about 82 and 14318", night, noon)
	}
}

func TestTreesStayWithinTheirSettings(t *testing.T) {
	sizes := map[int]bool{}
	var size func(m trace.Message, depth int) int
	size = func(m trace.Message, depth int) int {
		if depth > 5 || len(m.Children) > 6 || depth > 0 && m.Arrival != 0 {
			t.Fatalf("at depth %d: %d children, arrival %s", depth, len(m.Children), m.Arrival)
		}
		n := 1
		for _, c := range m.Children {
			n += size(c, depth+1)
		}
		return n
	}
	for i, m := range generate(t, "tree:roots=50,every=2m,depth=5,fanout=3,most=400", 1) {
		n := size(m, 0)
		sizes[n] = true
		if n < 2 || n > 400 || m.Arrival != time.Duration(i)*2*time.Minute {
			t.Errorf("root %d at %s has a tree of %d", i, m.Arrival, n)
		}
	}
	if !sizes[400] || len(sizes) < 10 {
		t.Errorf("found trees of %v, want some that are cut at 400 and many different ones", sizes)
	}
}

func TestWhatIsWrongInASpecification(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"setp", `there is no generator "setp"; did you mean "step"?; there are steady, poisson, step, spike, diurnal, workday, mmpp, drift, heavytail, sparse, burst, bimodal, tree`},
		{"", `there is no generator ""; there are steady, poisson, step, spike, diurnal, workday, mmpp, drift, heavytail, sparse, burst, bimodal, tree`},
		{"step:", "generator step: found nothing after the colon, want key=value as in step:rate=0.5"},
		{"step:rate", `generator step: found "rate", want key=value as in step:rate=0.5`},
		{"step:rate=1,", `generator step: found "", want key=value as in step:rate=0.5`},
		{"step:rte=1", `generator step: found the unknown setting "rte", allowed are rate, to, at, duration, service, cv; did you mean "rate"?`},
		{"step:rate=1,rate=2", "generator step: found rate twice"},
		{"step:rate=fast", "generator step: found rate=fast, want a number from 0 to 1000000"},
		{"step:rate=NaN", "generator step: found rate=NaN, want a number from 0 to 1000000"},
		{"step:rate=-1", "generator step: found rate=-1, want a number from 0 to 1000000"},
		{"step:at=600", "generator step: found at=600, want a duration with its unit, from 0s to 87600h0m0s"},
		{"step:cv=11", "generator step: found cv=11, want a number from 0 to 10"},
		{"burst:size=0", "generator burst: found size=0, want a whole number from 1 to 100000000"},
		{"burst:size=1.5", "generator burst: found size=1.5, want a whole number from 1 to 100000000"},
		{"heavytail:law=paretto",
			`generator heavytail: found law=paretto, allowed are lognormal and pareto; did you mean "pareto"?`},
		{"poisson:rate=1e6,duration=87600h", "generator poisson: found settings for about 315360000000000 messages, " +
			"want at most 1000000000"},
		{"diurnal:rate=0,duration=87600h,period=1h", "generate diurnal:rate=0,duration=87600h,period=1h: found no " +
			"message; a trace has at least one; raise the rate or the duration, or take another seed"},
		{"poisson:rate=0.001,duration=1s", "generate poisson:rate=0.001,duration=1s: found no message; a trace has " +
			"at least one; raise the rate or the duration, or take another seed"},
		{"poisson:rate=0", "generate poisson:rate=0: found no message; a trace has at least one; raise the rate or " +
			"the duration, or take another seed"},
	} {
		_, err := trace.Generate(c.spec, 1)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: found\n%v\nwant\n%s", c.spec, err, c.want)
		}
	}
}

func TestLoadFindsGeneratorsScenariosAndFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("step", []byte("arrival_s,service_s\n0,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text    string
		options trace.Options
		name    string // of the trace
		err     string
	}{
		{text: "step", name: "step"},
		{text: "burst:size=3", name: "burst:size=3"},
		{text: "spikes-300", name: "spikes-300"},
		{text: "./step", name: "step"},
		{text: "spike-300", err: `there is no file, no generator and no scenario "spike-300"; did you mean "spikes-300"?; generators are steady, poisson`},
		{text: "sparse-R0.2", err: `there is no file, no generator and no scenario "sparse-R0.2"; did you mean "sparse-R0.1"?; generators are steady`},
		{text: "stp:rate=1", err: `there is no file, no generator and no scenario "stp"; did you mean "step"?; generators are steady`},
		{text: "requests-of-june.csv", err: "requests-of-june.csv: open the trace: no such file or directory"},
		{text: "step", options: trace.Options{Format: trace.SWF}, err: "step is generated, and options were given " +
			"that are for files"},
		{text: "./step", options: trace.Options{Format: "cvs"},
			err: `found the format "cvs", allowed are csv, swf and counts; did you mean "csv"?`},
		{text: "./step", options: trace.Options{Spread: "evn"},
			err: `found the spread "evn", allowed are even and poisson; did you mean "even"?`},
		{text: "./step", options: trace.Options{Service: -1}, err: "found the mean service -1ns, want above 0s and " +
			"at most ten years"},
		{text: "./step", options: trace.Options{ServiceCV: math.NaN()}, err: "found the coefficient of variation NaN " +
			"of the service, want 0 to 10"},
	} {
		got, err := trace.Load(c.text, c.options)
		switch {
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
			t.Errorf("%s: found %v, want %s", c.text, err, c.err)
		case c.err == "" && (err != nil || got.Name != c.name):
			t.Errorf("%s: found %q (%v), want %q", c.text, got.Name, err, c.name)
		}
	}
	if got, err := trace.Load("./step", trace.Options{}); err != nil {
		t.Error(err)
	} else if messages, err := all(got); err != nil || len(messages) != 1 {
		t.Errorf("./step is no file: %d messages (%v)", len(messages), err)
	}
}

// TestTheSuiteHasTheSizesOfTheStudy holds the scenarios to the message counts of the study that they are compared with
// (see docs/traces.md), and that each works with every seed.
func TestTheSuiteHasTheSizesOfTheStudy(t *testing.T) {
	study := map[string]float64{
		"burst-25s": 50, "burst-50s": 50, "bimodal-L5": 28673, "bimodal-L60": 29048, "steady-R20": 28700,
		"step-1to10x": 31193, "spikes-300": 5843,
		"diurnal-24h": 129602, "mmpp-bursty": 24510, "mpd-drift-5to40": 10859, "heavytail-cv4": 21535,
		"sparse-R0.1": 534, "spikes-hard-L30": 31593,
	}
	seen := map[string]bool{}
	for _, s := range trace.Scenarios() {
		if _, generator := trace.Generate(s.Name, 1); generator == nil || seen[s.Name] || s.What == "" {
			t.Errorf("%s: the name is a generator's or taken, or it does not say what it tries", s.Name)
		}
		seen[s.Name] = true
		if s.Objective.Latency <= 0 || s.Objective.Quantile != 0.99 || s.Boot <= 0 || s.Slots < 1 || s.Max < 1 {
			t.Errorf("%s: found %+v, want all above 0", s.Name, s)
		}
		total := 0.0
		for _, seed := range trace.Seeds() {
			g, err := s.Trace(seed)
			if err != nil || g.Name != s.Name {
				t.Fatalf("%s: %q, %v", s.Name, g.Name, err)
			}
			if err := g.Each(func(trace.Message) bool { total++; return true }); err != nil {
				t.Fatal(err)
			}
		}
		want, ok := study[s.Name]
		if mean := total / float64(len(trace.Seeds())); ok && math.Abs(mean/want-1) > 0.1 {
			t.Errorf("%s: %.0f messages in the mean, want about %.0f", s.Name, mean, want)
		}
		delete(study, s.Name)
	}
	if len(study) > 0 {
		t.Errorf("there is no scenario for %v", study)
	}
}

// TestThePageListsWhatThereIs keeps docs/traces.md equal to the generators and the suite.
func TestThePageListsWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("../../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range trace.Generators() {
		var settings []string
		for _, p := range g.Parameters {
			settings = append(settings, p.Name+"="+p.Default)
		}
		if row := fmt.Sprintf("| `%s` | %s |", g.Name, strings.Join(settings, " ")); !strings.Contains(string(page),
			row) {
			t.Errorf("docs/traces.md lacks %q", row)
		}
	}
	specs := map[string]bool{}
	for _, s := range trace.Scenarios() {
		spec := s.Spec
		if specs[spec] {
			spec = "the same"
		}
		specs[s.Spec] = true
		short := func(d time.Duration) string { // 5m, not 5m0s
			if d%time.Minute == 0 && d > time.Minute {
				return fmt.Sprintf("%dm", d/time.Minute)
			}
			return fmt.Sprintf("%ds", d/time.Second)
		}
		if row := fmt.Sprintf("| `%s` | %s | %s / %s / %d |", s.Name, spec, short(s.Objective.Latency), short(s.Boot),
			s.Slots); !strings.Contains(string(page), row) {
			t.Errorf("docs/traces.md lacks %q", row)
		}
	}
}
