package policy_test

import (
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// deadline is the whole policy as it is configured by default, but for the dial.
func deadline(t interface{ Fatal(...any) }, scale float64) muster.Policy {
	p, err := policy.New(policy.Spec{Name: "deadline", Scale: scale})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ruled is a deadline policy that was drawn, with the dial anywhere.
func ruled(t *rapid.T) muster.Policy {
	return deadline(t, rapid.Float64Range(0.01, 1).Draw(t, "scale"))
}

// waits replaces what waits in o, the backlog included. The groups are oldest first.
func waits(o muster.Observation, groups []muster.Waiting) muster.Observation {
	sum, oldest := 0.0, 0.0
	for _, g := range groups {
		sum += g.Messages
	}
	if len(groups) > 0 {
		oldest = groups[0].AgeSeconds
	}
	o.Queues = slices.Clone(o.Queues)
	o.Queues[0].Backlog, o.Queues[0].OldestAge = muster.Measured(o.At, sum), muster.Measured(o.At, oldest)
	o.Waiting = groups
	return o
}

func TestDeadlineStaysWithinItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := ruled(t), prospects().Draw(t, "see")
		o.Limits.Min = rapid.IntRange(0, 9).Draw(t, "min")
		o.Limits.Max = o.Limits.Min + rapid.IntRange(0, 30).Draw(t, "span")
		d := p.Decide(o, nil)
		if d.Desired < o.Limits.Min || d.Desired > o.Limits.Max || d.Floor > d.Desired || d.Floor < o.Limits.Min {
			t.Fatalf("desired %d, floor %d outside %d to %d: %s", d.Desired, d.Floor, o.Limits.Min, o.Limits.Max,
				d.Sentence())
		}
		if (d.Verdict == muster.Hold) != (d.Desired == d.Previous) || (d.Verdict == muster.Hold) != (d.Reason != "") ||
			len(d.Trail) == 0 {
			t.Fatalf("verdict %s, reason %q from %d to %d", d.Verdict, d.Reason, d.Previous, d.Desired)
		}
		for _, term := range d.Trail {
			for _, v := range term.In {
				if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
					t.Fatalf("%s is %v in the trail", v.Name, v.Value)
				}
			}
		}
	})
}

func TestDeadlineLaunchesNoMoreThanTheMessagesNeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := prospects().Draw(t, "see")
		// What is kept for messages to come is another matter: they are unknown, and there is time to launch a worker
		// for one that waits.
		o.Arrivals = muster.Arrivals{}
		o.Objective.Latency += time.Duration(3 * (o.Boot.P95Seconds + o.Processing.P99Seconds) * float64(time.Second))
		d := deadline(t, rapid.Float64Range(0.5, 1).Draw(t, "scale")).Decide(o, nil)
		need := int(math.Ceil(o.Backlog().Value / o.Capacity.SlotsPerWorker))
		if launches := d.Desired - o.Capacity.Active(); launches > need {
			t.Fatalf("%d launched for %v messages and workers of %v slots: %s", launches, o.Backlog(),
				o.Capacity.SlotsPerWorker, d.Sentence())
		}
	})
}

func TestDeadlineDoesNotMindTheOrderOfMessagesOfOneAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := ruled(t), prospects().Draw(t, "see")
		if len(o.Waiting) == 0 {
			return
		}
		// A group is told apart in two of the same age, either part first.
		i := rapid.IntRange(0, len(o.Waiting)-1).Draw(t, "group")
		g := o.Waiting[i]
		part := math.Floor(g.Messages * rapid.Float64Range(0, 1).Draw(t, "part"))
		first, second := muster.Waiting{AgeSeconds: g.AgeSeconds,
			Messages: part}, muster.Waiting{AgeSeconds: g.AgeSeconds, Messages: g.Messages - part}
		whole := p.Decide(o, nil)
		for _, two := range [][]muster.Waiting{{first, second}, {second, first}} {
			apart := p.Decide(waits(o, slices.Replace(slices.Clone(o.Waiting), i, i+1, two...)), nil)
			if apart.Desired != whole.Desired || apart.Floor != whole.Floor || apart.Verdict != whole.Verdict {
				t.Fatalf("%v wait: %d; with %v: %d\n%s\n%s", o.Waiting, whole.Desired, two, apart.Desired,
					whole.Sentence(), apart.Sentence())
			}
		}
	})
}

// obeyed is o once the decision was carried out: launches are on their way, and those without a message have gone.
func obeyed(o muster.Observation, d muster.Decision) muster.Observation {
	c := &o.Capacity
	change := d.Desired - c.Active()
	c.Desired = d.Desired
	if change > 0 {
		c.Ordered += change
		g := muster.Coming{Members: change}
		if o.Pool != nil {
			g.Warm = min(change, o.Pool.Ready)
			left := *o.Pool
			left.Ready -= g.Warm
			o.Pool = &left
		}
		o.Coming = append(slices.Clone(o.Coming), g)
		return o
	}
	idle := min(-change, c.Idle)
	c.Idle -= idle
	c.Slots -= idle * int(c.SlotsPerWorker)
	c.Draining += idle
	return o
}

func TestADecisionOfDeadlineThatWasCarriedOutStands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := ruled(t), prospects().Draw(t, "see")
		o.Queues[0].InFlight = muster.Measured(o.At, float64(o.Capacity.BusySlots)) // reports and counts agree
		d := p.Decide(o, nil)
		if d.Desired < o.Capacity.Active() {
			return // it lets workers go; nothing waits
		}
		after := obeyed(o, d)
		again := p.Decide(after, nil)
		if again.Desired != d.Desired {
			t.Fatalf("%d, then %d in the same circumstances\n%s\n%s", d.Desired, again.Desired, d.Sentence(),
				again.Sentence())
		}
	})
}

// story is a fleet of the kind that deadline was made for: 64 messages wait, and a worker needs 90 s to boot.
func story(idle, busy int, groups ...muster.Waiting) muster.Observation {
	s := see{idle: idle, busy: busy, inFlight: float64(busy), latency: 300 * time.Second}
	return waits(s.at(takes(25, 0)), groups)
}

func TestDeadlineSaysInASentenceWhatItDoesAndWhy(t *testing.T) {
	p := deadline(t, 0)
	soon := see{busy: 5, inFlight: 5, latency: 231 * time.Second}.at(takes(13, 0))
	soon.Capacity.HeldMeanSeconds = 6.5
	for _, row := range []struct {
		name string
		o    muster.Observation
		want string // a regular expression
	}{
		{"a launch says when the work ends, when it should, and why now",
			waits(soon, []muster.Waiting{{AgeSeconds: 81, Messages: 64}}),
			`up from 5 to \d+: 64 waiting, the oldest 1m21s old; 5 workers finish them by 12:0\d:\d\d, the objective is 12:02:30; launching \d+ now because a worker needs 1m30s to boot`},
		{"nobody is there", story(0, 0, muster.Waiting{AgeSeconds: 100, Messages: 12}),
			`up from 0 to \d+: 12 waiting, the oldest 1m40s old; there is no worker, and the objective is 12:03:20; launching \d+ now because a worker needs 1m30s to boot`},
		{"there is still time", story(0, 1, muster.Waiting{AgeSeconds: 1, Messages: 12}),
			`holding at 1: 12 waiting, the oldest 1s old; 1 worker finishes them by 12:05:\d\d, the objective is 12:04:59; [\d.]+ more would be enough, and a later launch is still in time`},
		{"there are enough", story(0, 5, muster.Waiting{AgeSeconds: 1, Messages: 3}),
			`holding at 5: 3 waiting, the oldest 1s old; 5 workers finish them by 12:00:\d\d, in time`},
		{"nothing waits", story(3, 2), `down from 5 to 2: nothing waits; 2 workers are busy`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := p.Decide(row.o, nil).Sentence(); !regexp.MustCompile("^" + row.want + "$").MatchString(got) {
				t.Errorf("found %s\nwant  %s", got, row.want)
			}
		})
	}
}

func TestTheTrailOfDeadlineHoldsEachNumberOfItsSentence(t *testing.T) {
	d := deadline(t, 0).Decide(story(0, 5, muster.Waiting{AgeSeconds: 81, Messages: 64}), nil)
	term := d.Trail[0]
	found := map[string]float64{}
	for _, v := range term.In {
		found[v.Name] = v.Value
	}
	for name, want := range map[string]float64{"waiting": 64, "oldest_s": 81, "mpd_s": 25, "boot_s": 90, "workers": 5} {
		if got, ok := found[name]; !ok || got != want {
			t.Errorf("the trail has %s %v, want %v", name, got, want)
		}
	}
	if term.Rule != "deadline" || term.Out != d.Desired {
		t.Errorf("the term is of %s and comes to %d, want deadline and %d", term.Rule, term.Out, d.Desired)
	}
}

func TestDeadlineUnlikeExactWaitsForTheLastMoment(t *testing.T) {
	p := deadline(t, 0)
	launchedAt := -1
	for age := 0; age < 300 && launchedAt < 0; age++ {
		d := p.Decide(waits(see{latency: 300 * time.Second}.at(takes(25, 0)),
			[]muster.Waiting{{AgeSeconds: float64(age), Messages: 1}}), nil)
		if d.Desired > 0 {
			launchedAt = age
			if d.Desired != 1 {
				t.Errorf("%d workers for one message", d.Desired)
			}
		}
	}
	// The objective less the boot and the work leaves 185 s.
	if launchedAt < 150 || launchedAt > 185 {
		t.Errorf("the worker is launched when the message is %d s old, want 150 to 185", launchedAt)
	}
}

func TestHeadroomKeepsWorkersAboveThoseThatAreBusy(t *testing.T) {
	p, err := policy.New(policy.Spec{Name: "deadline", HeadroomWorkers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name       string
		idle, busy int
		want       int
	}{{"nobody there", 0, 0, 2}, {"three are busy", 0, 3, 5}, {"and two idle: they are the headroom", 2, 3,
		5}, {"one idle too many goes", 3, 3, 5}} {
		if d := p.Decide(story(row.idle, row.busy), nil); d.Desired != row.want {
			t.Errorf("%s: %d, want %d: %s", row.name, d.Desired, row.want, d.Sentence())
		}
	}
}

// BenchmarkDeadline decides about 10,000 waiting messages in as many groups as there may be: at most 20 us.
func BenchmarkDeadline(b *testing.B) {
	for _, row := range []struct {
		name   string
		coming int
	}{{"four launches under way", 4}, {"as many launches under way as are told apart", muster.MaxGroups}} {
		b.Run(row.name, func(b *testing.B) {
			p, o := deadline(b, 0), crowd(row.coming)
			if d := p.Decide(o, nil); d.Desired <= o.Capacity.Active() {
				b.Fatalf("nothing is launched, so not all is computed: %s", d.Sentence())
			}
			for b.Loop() {
				p.Decide(o, nil)
			}
		})
	}
}

// crowd is 10,000 messages that wait, with launches of so many instants under way.
func crowd(coming int) muster.Observation {
	o := see{latency: 300 * time.Second, busy: 40, inFlight: 40}.at(takes(5, 3))
	var groups []muster.Waiting
	for i := range muster.MaxGroups {
		groups = append(groups, muster.Waiting{AgeSeconds: float64(190 - 5*i), Messages: 10_000.0 / muster.MaxGroups})
	}
	for i := range coming {
		o.Coming = append(o.Coming, muster.Coming{AgeSeconds: float64(89 - 2*i), Members: 1})
	}
	o.Capacity.Ordered = coming
	o.Arrivals = muster.Arrivals{Known: true, TenSeconds: 10, Minute: 10, FiveMinutes: 10, Hour: 10}
	for w := 5.0; w < 700; w *= 2 {
		o.Arrivals.Busiest = append(o.Arrivals.Busiest, muster.Busiest{OverSeconds: w, Messages: 12 * w})
	}
	return waits(o, groups)
}

func TestAnEmptyPoolIsNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := ruled(t), prospects().Draw(t, "see")
		o.Pool = nil
		for i := range o.Coming {
			o.Coming[i].Warm = 0
		}
		without := p.Decide(o, nil)
		o.Pool = &muster.Pool{Boot: muster.Estimate{Known: true, Count: 1, MeanSeconds: 1, P95Seconds: 1}}
		if with := p.Decide(o, nil); with.Desired != without.Desired || with.Floor != without.Floor ||
			with.Sentence() != without.Sentence() {
			t.Fatalf("without a pool: %s\nwith an empty one: %s", without.Sentence(), with.Sentence())
		}
	})
}
