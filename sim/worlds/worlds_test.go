package worlds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
)

var update = flag.Bool("update", false,
	"write the distribution in docs/simulation.md and the lower bounds of the named worlds anew")

func digestOf(t *testing.T, number uint64) string {
	t.Helper()
	w := Draw(number)
	p, err := Prepare(w)
	if err != nil {
		t.Fatalf("world %d: %v", number, err)
	}
	digest, err := w.Digest(p)
	if err != nil {
		t.Fatalf("world %d: %v", number, err)
	}
	return digest
}

func TestTheSameNumberGivesTheSameWorld(t *testing.T) {
	seen := map[string]uint64{}
	for n := uint64(1); n <= 60; n++ {
		first, again := digestOf(t, n), digestOf(t, n)
		if first != again {
			t.Errorf("world %d: drawn twice, its digests are %s and %s", n, first, again)
		}
		if other, ok := seen[first]; ok {
			t.Errorf("the worlds %d and %d have the same digest", other, n)
		}
		seen[first] = n
	}
}

func TestADigestIsOfEverythingInAWorld(t *testing.T) {
	message := trace.Message{Service: time.Second, Class: "long"}
	base := func() World {
		return World{
			Number: 1,
			Length: 10,
			Event: contest.Event{
				Trace: func(uint64) (trace.Trace, error) { return trace.Of("t", message, message), nil },
			},
		}
	}
	prepared := func(change func(*World)) string {
		w := base()
		change(&w)
		p, err := contest.Prepare(w.Event, w.Number)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := w.Digest(p)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	traceOf := func(all ...trace.Message) func(*World) {
		return func(w *World) {
			w.Event.Trace = func(uint64) (trace.Trace, error) { return trace.Of("t", all...), nil }
		}
	}
	short, parent := message, message
	short.Class = ""
	parent.Children = []trace.Message{message}
	digests := map[string]string{prepared(func(*World) {}): "no change"}
	for _, x := range []struct {
		name   string
		change func(*World)
	}{
		{"another number", func(w *World) { w.Number = 2 }},
		{"another length", func(w *World) { w.Length = 11 }},
		{"another objective", func(w *World) { w.Event.Objective.Latency = time.Second }},
		{"another maximum", func(w *World) { w.Event.Limits.Max = 7 }},
		{"another fault", func(w *World) { w.Event.World.Poison = 0.1 }},
		{"other boots", func(w *World) { w.Event.World.Boot.Samples = []time.Duration{time.Second} }},
		{"a stated mean", func(w *World) { w.Event.Prior = time.Second }},
		{"a stated boot", func(w *World) { w.Event.TellBoot = true }},
		{"other polls", func(w *World) { w.Event.Poll = time.Minute }},
		{"one message", traceOf(message)},
		{"another class", traceOf(message, short)},
		{"a child", traceOf(message, parent)},
	} {
		digest := prepared(x.change)
		if before, ok := digests[digest]; ok {
			t.Errorf("%s has the same digest as %s", x.name, before)
		}
		digests[digest] = x.name
	}
	if again := prepared(func(*World) {}); digests[again] != "no change" {
		t.Error("the same world has another digest")
	}
}

// drawnForProperties is how many worlds the properties are held over.
const drawnForProperties = 500

func TestWorldsStayWithinTheBox(t *testing.T) {
	within := func(t *testing.T, w World, what string, v, least, most float64) {
		t.Helper()
		const rounding = 1e-9
		if !(v >= least*(1-rounding) && v <= most*(1+rounding)) {
			t.Errorf("world %d: found a %s of %v, allowed is %v to %v: %s", w.Number, what, v, least, most, w)
		}
	}
	for n := uint64(1); n <= drawnForProperties; n++ {
		w := Draw(n)
		e := w.Event
		within(t, w, "mean", w.Mean, shortestWork, longestWork)
		within(t, w, "boot", w.Boot, shortestBoot, longestBoot)
		within(t, w, "objective", w.Latency, 0.05, 13*86400)
		within(
			t,
			w,
			"objective over work and boot",
			w.Latency,
			math.Min(leastRoom*(w.Tail+w.Boot), 13*86400),
			math.Max(0.05, mostRoom*(w.Tail+w.Boot)),
		)
		within(t, w, "load", w.Load, 0, mostLoad)
		within(t, w, "number of slots", float64(w.Slots), 1, 64)
		within(t, w, "number of messages", float64(w.Messages), 1, mostMessages+1)
		within(t, w, "length", w.Length, math.Min(8*w.Boot+3*w.Latency, longest), longest)
		within(t, w, "report", e.World.Report.Mean.Seconds(), soonestReport, latestLate)
		within(t, w, "time between reports", e.World.ReportEvery.Seconds(), 1, rarestReport)
		within(t, w, "maximum", float64(e.Limits.Max), 1, 30*mostLoad)
		within(t, w, "quantile", e.Objective.Quantile, 0.95, 0.999)
		if got := e.Objective.Latency.Seconds(); math.Abs(got-w.Latency) > 1e-6 {
			t.Errorf("world %d: found an objective of %v in the event, want %v", n, got, w.Latency)
		}
		if _, err := e.World.Check(); err != nil {
			t.Errorf("world %d is refused: %v", n, err)
		}
		if !slices.Contains(Shapes(), w.Shape) {
			t.Errorf("world %d: found the shape %q, which is not listed", n, w.Shape)
		}
		if told := e.Prior > 0; told != (w.Told != "none") {
			t.Errorf("world %d: told %s, and a mean of %v is stated", n, w.Told, e.Prior)
		}
	}
}

func TestTracesHaveAboutTheirMessages(t *testing.T) {
	for n := uint64(1); n <= 100; n++ {
		w := Draw(n)
		p, err := Prepare(w)
		if err != nil {
			t.Fatalf("world %d: %v", n, err)
		}
		found, last := int64(0), time.Duration(0)
		err = p.Trace.Each(func(m trace.Message) bool {
			if m.Arrival < last {
				t.Errorf("world %d: a message comes at %v after one at %v", n, m.Arrival, last)
			}
			last = m.Arrival
			found += family(m)
			return true
		})
		if err != nil {
			t.Fatalf("world %d: %v", n, err)
		}
		// Bursts vary the most: those of Pareto size by their size, those of busy times by the length of these.
		if most := 3*int64(w.Messages) + 100; found < 1 || found > most {
			t.Errorf("world %d: found %d messages of about %d: %s", n, found, w.Messages, w)
		}
		if last.Seconds() > w.Length {
			t.Errorf("world %d: a message comes after %v s, its length is %v s", n, last.Seconds(), w.Length)
		}
	}
}

// A share of so many independent draws lies within four standard deviations of its probability.
func TestTheDistributionIsAsStated(t *testing.T) {
	below := func(least, most,
		v float64) bool {
		return v < math.Sqrt(least*most)
	} // the median of a log-uniform distribution
	for _, x := range []struct {
		name        string
		probability float64
		is          func(World) bool
	}{
		{"a mean below its median", 0.5, func(w World) bool { return below(shortestWork, longestWork, w.Mean) }},
		{"a boot below its median", 0.5, func(w World) bool { return below(shortestBoot, longestBoot, w.Boot) }},
		{"constant work", 0.2, func(w World) bool { return w.CV == 0 }},
		{"work that varies by 0.2 to 1.2", 0.5, func(w World) bool { return w.CV >= 0.2 && w.CV < 1.2 }},
		{"drift", 0.4, func(w World) bool { return w.Drift != "" }},
		{"boots of one length", 0.4, func(w World) bool { return w.BootCV == 0 }},
		{"an objective below its median", 0.5,
			func(w World) bool { return below(leastRoom, mostRoom, w.Latency/(w.Tail+w.Boot)) }},
		{"an objective for 99 %", 0.6, func(w World) bool { return w.Event.Objective.Quantile == 0.99 }},
		{"one slot", 0.6, func(w World) bool { return w.Slots == 1 }},
		{"trees", 1.0 / 11, func(w World) bool { return w.Shape == Trees }},
		{"failing messages", 0.3, func(w World) bool { return w.Event.World.Poison > 0 }},
		{"old counts", 0.2, func(w World) bool { return w.Event.World.Stale > 0 }},
		{"reports more than 3 s late", lateShare * math.Log(latestLate/latestReport) / math.Log(latestLate/soonestLate),
			func(w World) bool {
				return w.Event.World.Report.Mean.Seconds() > latestReport
			}},
		{"counts alone", 0.3, func(w World) bool { return w.Event.World.CountsOnly }},
		{"counts off by a fifth", 0.1, func(w World) bool { return w.Event.World.Approximate == 0.2 }},
		{"a maximum that binds", 1.0 / 6, func(w World) bool { return w.Binding }},
		{"launches that fail", 0.1, func(w World) bool { return w.Event.World.LaunchFails > 0 }},
		{"spot interruptions", 0.1, func(w World) bool { return w.Event.World.Spot.Share > 0 }},
		{"crashes", 0.1, func(w World) bool { return w.Event.World.Crashes > 0 }},
		{"no mean stated", 0.4, func(w World) bool { return w.Told == "none" }},
		{"the right mean stated", 0.3, func(w World) bool { return w.Told == "right" }},
		{"half the mean stated", 0.15, func(w World) bool { return w.Told == "half" }},
		{"double the mean stated", 0.15, func(w World) bool { return w.Told == "double" }},
		{"the boot stated", 0.5, func(w World) bool { return w.Event.TellBoot }},
	} {
		count := 0
		for n := uint64(1); n <= drawnForProperties; n++ {
			if x.is(Draw(n)) {
				count++
			}
		}
		deviation := math.Sqrt(x.probability * (1 - x.probability) / drawnForProperties)
		if share := float64(count) / drawnForProperties; math.Abs(share-x.probability) > 4*deviation {
			t.Errorf("%s: found in %.3f of the worlds, stated is %.3f", x.name, share, x.probability)
		}
	}
}

// The page has the items of the comment on [Draw], with the shapes in place of the reference to them.
func TestThePageStatesTheDistribution(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "draw.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	doc := ""
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Draw" {
			doc = f.Doc.Text()
		}
	}
	_, doc, found := strings.Cut(doc, "unless said:\n\n")
	if !found {
		t.Fatalf("the comment on Draw has no list: %q", doc)
	}
	items, last, _ := strings.Cut(doc, "\n\n")
	var want strings.Builder
	for _, item := range strings.Split("\n"+items, "\n  - ")[1:] {
		item = strings.Join(strings.Fields(item), " ")
		if strings.Contains(item, "[Shape]") {
			var names []string
			for _, s := range Shapes() {
				names = append(names, string(s))
			}
			item = "arrivals, each as likely as the others: " + strings.Join(names, ", ") + ";"
		}
		want.WriteString(wrap("- "+item, "  ") + "\n")
	}
	want.WriteString("\n" + wrap(strings.Join(strings.Fields(last), " "), "") + "\n")
	const path, before = "../../docs/simulation.md", "What is drawn, each apart from the others unless said:\n\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	above, rest, found := strings.Cut(string(text), before)
	const after = "\n`--named` plays"
	stated, below, foundToo := strings.Cut(rest, after)
	if !found || !foundToo {
		t.Fatalf("%s has no distribution of worlds between %q and %q", path, before, after)
	}
	if stated == want.String() {
		return
	}
	if !*update {
		t.Fatalf(
			"%s states another distribution than the comment on Draw; go test ./sim/worlds -run Distribution -update "+
				"writes it anew; want\n%s",
			path,
			want.String(),
		)
	}
	if err := os.WriteFile(path, []byte(above+before+want.String()+after+below), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wrap breaks text into lines of at most 120 columns, of which all but the first begin with the indent.
func wrap(text, indent string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > 120 {
			lines, line = append(lines, line), indent+word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

func TestLimitsOfNamedWorlds(t *testing.T) {
	n := Named{Least: 0.99, MostRatio: 1.2, MostLaunches: 10, MostPeak: 5}
	kept := scoring.Result{InTimeRatio: 0.99, Ratio: 1.2, LaunchesPerHour: 10, PeakWorkers: 5}
	for _, x := range []struct {
		name   string
		world  Named
		change func(*scoring.Result)
		want   string
	}{
		{"at every limit", n, func(*scoring.Result) {}, ""},
		{"late", n, func(r *scoring.Result) { r.InTimeRatio = 0.989 }, "98.9 % in time, wanted is 99 %"},
		{"costly", n, func(r *scoring.Result) { r.Ratio = 1.201 }, "1.201 times the lower bound, allowed is 1.2"},
		{"without a bound", n, func(r *scoring.Result) { r.Ratio = 0 }, "0.000 times the lower bound, allowed is 1.2"},
		{"restless and large", n, func(r *scoring.Result) { r.LaunchesPerHour, r.PeakWorkers = 11, 6 },
			"11 launches an hour, allowed are 10; a peak of 6 workers, allowed are 5"},
		{"no figure", n, func(r *scoring.Result) { r.InTimeRatio = math.NaN() }, "NaN % in time, wanted is 99 %"},
		{"a world without limits", Named{}, func(r *scoring.Result) { *r = scoring.Result{PeakWorkers: 1000} }, ""},
	} {
		r := kept
		x.change(&r)
		if got := strings.Join(x.world.Missed(r), "; "); got != x.want {
			t.Errorf("%s: found %q, want %q", x.name, got, x.want)
		}
	}
}

func TestDuels(t *testing.T) {
	o := func(world uint64, policy string, loss float64) Outcome {
		return Outcome{World: world, Policy: policy, Loss: loss}
	}
	all := []Outcome{
		o(1, "a", 100),
		o(1, "b", 90),
		o(1, "c", 95),
		o(2, "b", 10),
		o(2, "a", 40),
		o(3, "a", 7),
		o(4, "b", 7),
	}
	duels := Duels("a", all)
	if len(duels) != 2 || duels[0].Best.Policy != "b" || duels[0].Regret() || !duels[1].Regret() ||
		duels[1].Ratio() != 4 {
		t.Errorf("found %+v, want b in the worlds 1, without regret, and 2, with regret and a ratio of 4", duels)
	}
	if worst := Worst(duels, 1); len(worst) != 1 || worst[0].Mine.World != 2 {
		t.Errorf("found %+v as the worst, want world 2", worst)
	}
	if mean := GeometricMean([]float64{1, 4}); math.Abs(mean-2) > 1e-12 {
		t.Errorf("found a geometric mean of %v, want 2", mean)
	}
	if none := (Duel{Outcome{Loss: math.NaN()}, Outcome{Loss: 1}}); !none.Regret() {
		t.Error("a loss that is no number is not free of regret")
	}
}

// underTest is the policy whose promises are held.
func underTest(t *testing.T) contest.Contender {
	t.Helper()
	c, err := contest.Find(contest.Default)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// boundsFile has the lower bound of each named world in worker-seconds, with a digest of what it was computed for. All
// of them take minutes to compute, and no policy changes them.
const boundsFile = "testdata/bounds.tsv"

// bounds are the lines of that file by the name of the world.
func bounds(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(boundsFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[name] = rest
	}
	return all
}

// boundedBy is a digest of everything that the lower bound of a prepared world depends on.
func boundedBy(t *testing.T, p contest.Prepared) string {
	t.Helper()
	h, e := sha256.New(), p.Event
	fmt.Fprintln(h, e.Objective.Latency, e.Objective.Quantile, e.World.Boot, e.World.Slots, e.Limits.Min, e.Limits.Max)
	err := p.Trace.Each(func(m trace.Message) bool {
		addMessage(h, m)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func TestNamedWorldsKeepTheirLimits(t *testing.T) {
	known, found := bounds(t), make([]string, len(All()))
	t.Run("world", func(t *testing.T) {
		for i, n := range All() {
			t.Run(n.Name, func(t *testing.T) {
				t.Parallel()
				p, err := contest.Prepare(n.Event, NamedSeed)
				if err != nil {
					t.Fatal(err)
				}
				r, err := p.Run(context.Background(), underTest(t), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				digest, text, _ := strings.Cut(known[n.Name], "\t")
				if *update {
					if err := p.Limit(); err != nil {
						t.Fatal(err)
					}
					digest, text = boundedBy(t, p), fmt.Sprintf("%.0f", p.Limits.Prescient.WorkerSeconds)
					found[i] = n.Name + "\t" + digest + "\t" + text + "\n"
				}
				bound, err := strconv.ParseFloat(text, 64)
				if err != nil || digest != boundedBy(t, p) {
					t.Fatalf("%s has no lower bound of this world; go test ./sim/worlds -run Named -update computes it",
						boundsFile)
				}
				r.Ratio = r.WorkerSeconds / bound
				for _, fault := range append(r.Faults, n.Missed(r)...) {
					t.Error(fault)
				}
			})
		}
	})
	if *update {
		if err := os.WriteFile(boundsFile, []byte(strings.Join(found, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The lower bounds in the file are those that are computed; the others take seconds each.
func TestTheSmallestNamedWorldHasTheLowerBoundOfTheFile(t *testing.T) {
	const name = "50 messages of 50 s at once, told nothing"
	i := slices.IndexFunc(All(), func(n Named) bool { return n.Name == name })
	p, err := All()[i].Prepare(false)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s\t%.0f", boundedBy(t, p), p.Limits.Prescient.WorkerSeconds)
	if got := bounds(t)[name]; got != want {
		t.Errorf("%s has %q, computed is %q", boundsFile, got, want)
	}
}

// drawnFrom is the first number of the worlds on which promises are held.
const drawnFrom = 400_001

// beginning is a trace up to its first so many messages, with those of its trees.
func beginning(of trace.Trace, messages int64) trace.Trace {
	return trace.Trace{Name: of.Name, Open: func() (trace.Reader, error) {
		r, err := of.Open()
		return &beginningReader{r, messages}, err
	}}
}

type beginningReader struct {
	trace.Reader
	left int64
}

func (r *beginningReader) Next() (trace.Message, error) {
	if r.left <= 0 {
		return trace.Message{}, io.EOF
	}
	m, err := r.Reader.Next()
	r.left -= family(m)
	return m, err
}

// MUSTER_WORLDS says how many worlds are drawn; `make proofs` and .ci/run draw 200. A few worlds of 100,000 messages
// would take half of the time, so all end after MUSTER_WORLD_MESSAGES, if that is set.
func TestDrawnWorldsKeepEveryPromise(t *testing.T) {
	count := 4
	if testing.Short() {
		count = 3
	}
	if text := os.Getenv("MUSTER_WORLDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("MUSTER_WORLDS: found %q, want a number of worlds", text)
		}
		count = n
	}
	messages := int64(math.MaxInt64)
	if text := os.Getenv("MUSTER_WORLD_MESSAGES"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			t.Fatalf("MUSTER_WORLD_MESSAGES: found %q, want a number of messages", text)
		}
		messages = n
	}
	const most = 3 * time.Minute // three times what one takes at most on two cores of its own
	var lock sync.Mutex
	longest, at := 0.0, ""
	t.Run("worlds", func(t *testing.T) {
		for n := uint64(drawnFrom); n < drawnFrom+uint64(count); n++ {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				w := Draw(n)
				p, err := Prepare(w)
				if err != nil {
					t.Fatalf("%v: %s", err, w)
				}
				p.Trace = beginning(p.Trace, messages)
				ctx, stop := context.WithTimeout(context.Background(), most)
				defer stop()
				began := time.Now()
				o, err := Play(ctx, w, p, underTest(t))
				took := time.Since(began)
				if err != nil {
					t.Fatalf("%v after %v: %s", err, took, w)
				}
				if took > most {
					t.Errorf("took %v, allowed is %v: %s", took, most, w)
				}
				for _, fault := range o.Faults {
					t.Errorf("%s: %s", fault, w)
				}
				if o.Messages < 1 || !(o.Loss > 0) || !(o.InTime >= 0 && o.InTime <= 1) ||
					!(o.Settled >= 0 && o.Settled <= 1) {
					t.Errorf("found %+v, want figures of a run: %s", o, w)
				}
				lock.Lock()
				defer lock.Unlock()
				if s := took.Seconds(); s > longest {
					longest, at = s, w.String()
				}
			})
		}
	})
	t.Logf("%d worlds; the longest run took %.1f s: %s", count, longest, at)
}

// A repetition has the circumstances of its world and other messages; the first one is the world itself.
func TestARepetitionDrawsTheMessagesAnew(t *testing.T) {
	messages := func(w World) (all []trace.Message, circumstances string) {
		p, err := Prepare(w)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Trace.Each(func(m trace.Message) bool {
			all = append(all, m)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return all, fmt.Sprint(w, p.Event.Objective, p.Event.Limits, p.Event.World, p.Event.Poll)
	}
	w := Draw(3033)
	first, same := messages(w)
	for k, want := range []bool{true, false, false} {
		again, circumstances := messages(w.Repeat(k))
		if equal := reflect.DeepEqual(first, again); equal != want || circumstances != same {
			t.Errorf("repetition %d: equal messages %v, want %v; circumstances %s, want %s", k, equal, want,
				circumstances, same)
		}
	}
	one, _ := messages(w.Repeat(1))
	if again, _ := messages(w.Repeat(1)); len(one) == 0 || !reflect.DeepEqual(one, again) {
		t.Errorf("found %d and %d messages, want the same ones each time", len(one), len(again))
	}
}

func TestTheMeanOfOutcomes(t *testing.T) {
	found := Mean([]Outcome{
		{World: 4, Policy: "p", Loss: 10, WorkerSeconds: 8, InTime: 1, Settled: 1, Launches: 3, Peak: 2, Messages: 9},
		{World: 4, Policy: "p", Loss: 20, WorkerSeconds: 10, InTime: 0.5, Settled: 0, Launches: 4, Peak: 2,
			Messages: 11, Unfinished: 2, BootSeconds: 3, Reversals: 2, Faults: []string{"a"}},
	})
	want := Outcome{World: 4, Policy: "p", Loss: 15, WorkerSeconds: 9, BootSeconds: 1.5, InTime: 0.75, Settled: 0.5,
		Launches: 4, Reversals: 1, Peak: 2, Messages: 10, Unfinished: 1, Faults: []string{"a"}}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("found %+v, want %+v", found, want)
	}
}

func TestDurationsAreReadable(t *testing.T) {
	for seconds, want := range map[float64]string{0.005: "5 ms", 0.3612: "361 ms", 12.3: "12 s", 330: "5.5 min",
		14400: "4 h"} {
		if got := short(seconds); got != want {
			t.Errorf("found %q for %v s, want %q", got, seconds, want)
		}
	}
}
