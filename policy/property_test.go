package policy_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/instructed"
	"github.com/muster-scale/muster/policy/planning"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
)

func specs() *rapid.Generator[policy.Spec] {
	shape := rapid.Custom(func(t *rapid.T) policy.Shape {
		s := policy.Shape{Stabilization: time.Duration(rapid.IntRange(0, 60).Draw(t, "window")) * time.Second}
		if rapid.Bool().Draw(t, "rated") {
			s.MaxWorkers, s.Period = rapid.IntRange(1, 9).Draw(t,
				"workers"), time.Duration(rapid.IntRange(1, 60).Draw(t, "period"))*time.Second
		}
		s.Disabled = rapid.IntRange(0, 7).Draw(t, "disabled") == 0
		return s
	})
	return rapid.Custom(func(t *rapid.T) policy.Spec {
		s := policy.Spec{
			Name: rapid.SampledFrom([]string{"deadline", "exact", "backlog-per-worker", "dynamic-backlog",
				"worker-utilization", "metric-math"}).Draw(t, "policy"),
			Acceptable:      rapid.Float64Range(0.1, 50).Draw(t, "acceptable"),
			HeadroomWorkers: rapid.IntRange(0, 3).Draw(t, "headroom"),
			Out:             shape.Draw(t, "out"), In: shape.Draw(t, "in"),
		}
		if s.Name == "metric-math" {
			s.Target, s.Queries = rapid.Float64Range(0.1, 5).Draw(t, "target"), list(t, utilization)
		}
		return s
	})
}

// sharings are those of a machine with any crowds, of numbers as they are measured and of any others; nil for most.
func sharings() *rapid.Generator[*muster.Sharing] {
	return rapid.Custom(func(t *rapid.T) *muster.Sharing {
		if rapid.IntRange(0, 2).Draw(t, "shared") > 0 {
			return nil
		}
		s := &muster.Sharing{Cores: rapid.IntRange(1, 16).Draw(t, "cores")}
		for range rapid.IntRange(0, 6).Draw(t, "crowds") {
			s.Crowds = append(s.Crowds, muster.Crowd{
				Busy:        rapid.SampledFrom([]float64{0, 1, 2, 3.5, 8, 20, 1e12}).Draw(t, "busy together"),
				Messages:    rapid.SampledFrom([]float64{0, 1e-9, 1, 30, 1e15}).Draw(t, "messages"),
				Lately:      rapid.SampledFrom([]float64{0, 1, 30}).Draw(t, "lately"),
				MeanSeconds: rapid.SampledFrom([]float64{0, 1e-9, 0.2, 1, 4, 20, 1e12}).Draw(t, "mean"),
			})
		}
		return s
	})
}

func sights() *rapid.Generator[see] {
	return rapid.Custom(func(t *rapid.T) see {
		low := rapid.IntRange(0, 5).Draw(t, "min")
		return see{
			backlog:  float64(rapid.IntRange(0, 500).Draw(t, "backlog")),
			inFlight: float64(rapid.IntRange(0, 50).Draw(t, "in flight")),
			idle:     rapid.IntRange(0, 9).Draw(t, "idle"), busy: rapid.IntRange(0, 9).Draw(t, "busy"),
			pending: rapid.IntRange(0, 9).Draw(t, "pending"),
			slots:   rapid.IntRange(1, 4).Draw(t, "slots"), latency: 30 * time.Second,
			mpd: time.Duration(rapid.IntRange(0, 5).Draw(t, "mpd")) * time.Second,
			min: low, max: low + rapid.IntRange(0, 40).Draw(t, "span"),
			sharing:   sharings().Draw(t, "sharing"),
			overrides: overrides().Draw(t, "overrides"),
			noBacklog: rapid.Bool().Draw(t, "no backlog"), noInFlight: rapid.Bool().Draw(t, "no in flight"),
			noListing: rapid.Bool().Draw(t, "no listing"),
		}
	})
}

// overrides are up to four of all kinds that have begun, will begin or have ended; none for most.
func overrides() *rapid.Generator[override.List] {
	return rapid.Custom(func(t *rapid.T) (l override.List) {
		if rapid.IntRange(0, 2).Draw(t, "instructed") > 0 {
			return nil
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "overrides") {
			begin := t0.Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "begin")) * time.Second)
			o := override.Override{ID: string(rune('a' + i)), Kind: rapid.SampledFrom(override.Kinds()).Draw(t, "kind"),
				Begin: begin, End: begin.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "length")) * time.Second)}
			n := rapid.IntRange(0, 40).Draw(t, "number")
			switch o.Kind {
			case override.Reserve:
				o.Workers, o.Grant = n+5, &override.Grant{Workers: n}
			case override.Limits:
				o.Max = &n
				if rapid.Bool().Draw(t, "minimum") {
					o.Min, o.Max = &n, nil
				}
			}
			l = l.With(o)
		}
		return l
	})
}

func pasts() *rapid.Generator[muster.Recent] {
	return rapid.Custom(func(t *rapid.T) muster.Recent {
		var r muster.Recent
		at := t0.Add(-2 * time.Minute)
		for range rapid.IntRange(0, 12).Draw(t, "decisions") {
			at = at.Add(time.Duration(rapid.IntRange(1, 10).Draw(t, "later")) * time.Second)
			r = append(r, muster.Past{At: at, Wish: rapid.IntRange(0, 40).Draw(t, "wish"),
				Desired: rapid.IntRange(0, 40).Draw(t, "desired")})
		}
		return r
	})
}

func TestEveryDecisionStaysWithinItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := policy.New(specs().Draw(t, "spec"))
		if err != nil {
			t.Fatal(err)
		}
		o := sights().Draw(t, "see").observation()
		d := p.Decide(o, pasts().Draw(t, "recent"))
		if d.Desired < o.Limits.Min || d.Desired > o.Limits.Max || d.Floor > d.Desired || d.Floor < o.Limits.Min {
			t.Fatalf("desired %d, floor %d outside %d to %d: %s", d.Desired, d.Floor, o.Limits.Min, o.Limits.Max,
				d.Sentence())
		}
		if (d.Verdict == muster.Hold) != (d.Desired == d.Previous) || (d.Verdict == muster.Hold) != (d.Reason != "") {
			t.Fatalf("verdict %s, reason %q from %d to %d", d.Verdict, d.Reason, d.Previous, d.Desired)
		}
		if len(d.Trail) == 0 {
			t.Fatal("a decision without a trail")
		}
	})
}

func TestNoDecreaseWhileASignalIsUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := policy.New(specs().Draw(t, "spec"))
		if err != nil {
			t.Fatal(err)
		}
		s := sights().Draw(t, "see")
		if !s.noBacklog && !s.noInFlight && !s.noListing {
			s.noBacklog = true
		}
		o := s.observation()
		d := p.Decide(o, pasts().Draw(t, "recent"))
		if d.Desired < min(d.Previous, o.Limits.Max) || d.Floor < min(d.Desired, o.Capacity.Desired) {
			t.Fatalf("fell from %d to %d, floor %d: %s", d.Previous, d.Desired, d.Floor, d.Sentence())
		}
	})
}

func TestAMessageMoreNeverMeansAWorkerFewer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := specs().Draw(t, "spec")
		if spec.Name == "deadline" {
			return // it may launch later, when that is still in time for as many; package sim holds it to whole stories
		}
		p, err := policy.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		s, recent := sights().Draw(t, "see"), pasts().Draw(t, "recent")
		more := s
		more.backlog++
		a, b := p.Decide(s.observation(), recent), p.Decide(more.observation(), recent)
		if b.Desired < a.Desired {
			t.Fatalf("%v waiting: %d, one more: %d", s.backlog, a.Desired, b.Desired)
		}
	})
}

func TestADecisionRecomputedFromItsRecordIsTheSameToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := specs().Draw(t, "spec")
		p, err := policy.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		o, recent := sights().Draw(t, "see").observation(), pasts().Draw(t, "recent")
		first, _ := json.Marshal(p.Decide(o, recent))
		var spec2 policy.Spec
		var o2 muster.Observation
		reread(t, spec, &spec2)
		reread(t, o, &o2)
		p2, err := policy.New(spec2)
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := json.Marshal(p2.Decide(o2, recent)); string(second) != string(first) {
			t.Fatalf("first  %s\nsecond %s", first, second)
		}
	})
}

// A policy without a headroom, a rate or a budget decides as one whose headroom, rate and budget limit nothing.
func TestWhatLimitsNothingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := specs().Draw(t, "spec")
		s.PricePerHour, s.BudgetPerHour = 1, float64(rapid.IntRange(0, 3).Draw(t, "budget"))
		var all muster.Policy = policy.DynamicBacklog{Prior: s.Acceptable}
		if s.Name = "dynamic-backlog"; rapid.Bool().Draw(t, "exact") {
			all, s.Name = planning.Exact{}, "exact"
		}
		all = policy.Headroom{Of: all, Workers: s.HeadroomWorkers, Percent: s.HeadroomPercent}
		all = policy.Stabilised{Of: all, Out: s.Out.Stabilization, In: s.In.Stabilization}
		all = instructed.Reserved{Of: policy.Rate{Of: all, Out: s.Out, In: s.In}}
		all = policy.Budget{Of: all, PerHour: s.BudgetPerHour, PricePerHour: s.PricePerHour}
		all = policy.Bounds{Of: instructed.Instructed{Of: policy.LaunchLimits{Of: policy.Cautious{Of: all}}}}
		p, err := policy.New(s)
		if err != nil {
			t.Fatal(err)
		}
		o, recent := sights().Draw(t, "see").observation(), pasts().Draw(t, "recent")
		got, _ := json.Marshal(p.Decide(o, recent))
		if want, _ := json.Marshal(all.Decide(o, recent)); string(got) != string(want) {
			t.Fatalf("found %s\nwant  %s", got, want)
		}
	})
}

func reread(t *rapid.T, from, to any) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What a size is for is there or credibly to come until a worker is ready that is launched now, and a worker takes one
// message at least: so a size that grows is bounded by both, whatever else is seen. It is the promise that no storm
// comes of short messages, few seconds of arrivals or one that hangs.
func TestDeadlineLaunchesNoMoreThanIsThereAndCredibleToCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := extremes(t, prospects().Draw(t, "see"))
		d := deadline(t, 1).Decide(o, nil)
		a := o.Arrivals
		until := math.Max(o.Boot.MeanSeconds, o.Boot.P95Seconds)*1.5 + o.LateSeconds() + 10
		credible := 0.0
		for _, rate := range []float64{a.TenSeconds, a.Minute, a.FiveMinutes, a.TwentyMinutes, a.Hour} {
			credible = math.Max(credible, rate*until)
		}
		// The rate may go on to rise as it does, and what comes may be more by chance.
		credible = 2*credible + 2*math.Sqrt(credible)
		for _, b := range a.Busiest {
			credible = math.Max(credible, b.Messages)
		}
		there := o.Backlog().Value + float64(o.Capacity.BusySlots)
		most := math.Ceil((there+credible)/o.Capacity.SlotsPerWorker) + 1
		if launches := d.Desired - o.Capacity.Active(); launches > 0 && float64(d.Desired) > most {
			t.Fatalf("%d launched, to be %d; %v are there and %v may come: %s",
				launches, d.Desired, there, credible, d.Sentence())
		}
	})
}

// extremes gives an observation work of 5 ms to 4 h, boots of 0.2 s to half an hour, and arrivals that were watched for
// seconds to hours and are anything but steady.
func extremes(t *rapid.T, o muster.Observation) muster.Observation {
	o.Limits.Max, o.Limits.LaunchesPerHour = 1_000_000, 1_000_000_000
	mean := math.Exp(rapid.Float64Range(math.Log(0.005), math.Log(4*3600)).Draw(t, "work takes"))
	o.Processing = takes(mean, mean*rapid.Float64Range(0, 2).Draw(t, "varies by"))
	o.Processing.Prior = rapid.Bool().Draw(t, "it was stated")
	boot := math.Exp(rapid.Float64Range(math.Log(0.2), math.Log(1800)).Draw(t, "a boot takes"))
	o.Boot = muster.Estimate{Known: true, Count: 9, MeanSeconds: boot, P50Seconds: boot, P95Seconds: 1.2 * boot,
		P99Seconds: 1.3 * boot}
	watched := math.Exp(rapid.Float64Range(0, math.Log(7200)).Draw(t, "watched"))
	n, rates := 0.0, [5]float64{}
	for i, over := range []float64{10, 60, 300, 1200, 3600} {
		n += math.Floor(math.Exp(rapid.Float64Range(0, 7).Draw(t, "came")) - 1)
		rates[i] = n / math.Min(over, watched)
		if over >= watched && i > 0 {
			rates[i] = rates[i-1] // nothing more was seen
		}
	}
	o.Arrivals = muster.Arrivals{
		Known: true, TenSeconds: rates[0], Minute: rates[1], FiveMinutes: rates[2], TwentyMinutes: rates[3],
		Hour:           rates[4],
		WatchedSeconds: watched,
	}
	most := rates[0] * 5
	for over := 5.0; over <= 640; over *= 2 {
		most *= rapid.Float64Range(1, 2).Draw(t, "busier")
		b := muster.Busiest{OverSeconds: over, Messages: most}
		for k, share := range muster.RoomShares() {
			b.Rooms[k] = share * most
		}
		o.Arrivals.Busiest = append(o.Arrivals.Busiest, b)
	}
	return o
}

func TestOneMessageThatHangsMovesNoMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := prospects().Draw(t, "see")
		workers := rapid.IntRange(1, 40).Draw(t, "busy")
		usual := o.Processing.MeanSeconds
		o.Capacity.Busy, o.Capacity.BusySlots, o.Capacity.Slots, o.Capacity.Idle = workers, workers, workers, 0
		hang := usual + rapid.Float64Range(0, 1e6).Draw(t, "hangs for")
		n := float64(workers)
		none, one := o, o
		none.Capacity.HeldMeanSeconds, none.Capacity.HeldDeviationSeconds = 0, 0
		// All others have just begun.
		one.Capacity.HeldMeanSeconds, one.Capacity.HeldDeviationSeconds = hang/n, hang*math.Sqrt(n-1)/n
		a, b := deadline(t, 1).Decide(none, nil), deadline(t, 1).Decide(one, nil)
		before, after := numberOf(a, "mpd_s"), numberOf(b, "mpd_s")
		if before > 0 && after > math.Max(before, 2.5*math.Max(usual, o.Processing.P99Seconds)) {
			t.Fatalf("a message that hangs for %v s makes the mean %v s, it was %v", hang, after, before)
		}
	})
}

// numberOf is a number of the first term of a decision; 0 where it has none of that name.
func numberOf(d muster.Decision, name string) float64 {
	for _, v := range d.Trail[0].In {
		if v.Name == name {
			return v.Value
		}
	}
	return 0
}
