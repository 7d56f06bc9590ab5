package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// see builds an observation the way a person would tell it.
type see struct {
	backlog, inFlight      float64
	retrying               float64 // of those in flight
	idle, busy, pending    int
	slots                  int // per worker
	latency                time.Duration
	mpd                    time.Duration
	min, max               int
	noBacklog, noInFlight  bool
	noListing, reportsOnly bool
	draining, lost         int
	desired                int // 0: what is there
	launches               muster.Launches
	sharing                *muster.Sharing
	overrides              override.List
}

func (s see) observation() muster.Observation {
	sample := func(v float64, unknown bool) muster.Sample {
		if unknown {
			return muster.Unknown(t0, "the source did not answer")
		}
		return muster.Measured(t0, v)
	}
	slots := max(1, s.slots)
	o := muster.Observation{
		Fleet: "f", At: t0, Objective: muster.Objective{Latency: s.latency, Quantile: 0.99},
		Limits: muster.Limits{Min: s.min, Max: 100_000, LaunchesPerHour: 1_000_000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: sample(s.backlog, s.noBacklog),
			InFlight: sample(s.inFlight, s.noInFlight), Retrying: sample(s.retrying, false)}},
		Capacity: muster.Capacity{
			Known: !s.noListing, Reason: "refused", Desired: s.idle + s.busy + s.pending, Idle: s.idle, Busy: s.busy,
			Booting:  s.pending,
			Draining: s.draining, Lost: s.lost,
			Slots: (s.idle + s.busy) * slots, BusySlots: s.busy * slots, SlotsPerWorker: float64(slots),
		},
		Retrying: s.retrying, Launches: s.launches, Sharing: s.sharing,
	}
	if s.desired > 0 {
		o.Capacity.Desired = s.desired
	}
	if s.max > 0 {
		o.Limits.Max = s.max
	}
	if s.mpd > 0 {
		o.Processing = muster.Estimate{Known: true, Count: 10, MeanSeconds: s.mpd.Seconds()}
	}
	if s.reportsOnly {
		o.Queues = nil
	}
	o.Overrides = s.overrides
	o.Limits.Min, o.Limits.Max = s.overrides.Limits(o.At, o.Limits.Min, o.Limits.Max)
	return o
}

func TestPoliciesByTheirPublishedExamples(t *testing.T) {
	utilization := policy.Spec{Name: "worker-utilization"}
	inFlightOnly := policy.Spec{Name: "worker-utilization", Signal: "in-flight"}
	reports := policy.Spec{Name: "worker-utilization", Signal: "reports"}
	exact := policy.Spec{Name: "exact"}
	for _, row := range []struct {
		name string
		spec policy.Spec
		see  see
		want int
	}{
		{"1500 visible, 10 in service, 0.1 s each, 10 s accepted: out by five to 15",
			policy.Spec{Name: "backlog-per-worker", Processing: 100 * time.Millisecond},
			see{backlog: 1500, busy: 10, latency: 10 * time.Second}, 15},
		{"the same with the acceptable backlog of 100 given", policy.Spec{Name: "backlog-per-worker", Acceptable: 100},
			see{backlog: 1500, busy: 10}, 15},
		{"backlog per worker at its target stays", policy.Spec{Name: "backlog-per-worker", Acceptable: 100},
			see{backlog: 1000, busy: 10}, 10},
		{"50 messages of 25 s within 300 s: 12 acceptable, so 5 workers", policy.Spec{Name: "dynamic-backlog"},
			see{backlog: 50, mpd: 25 * time.Second, latency: 300 * time.Second}, 5},
		{"48 messages of 25 s within 300 s: 4 workers", policy.Spec{Name: "dynamic-backlog"},
			see{backlog: 48, mpd: 25 * time.Second, latency: 300 * time.Second}, 4},
		{"48 messages of 50 s within 300 s: 8 workers", policy.Spec{Name: "dynamic-backlog"},
			see{backlog: 48, mpd: 50 * time.Second, latency: 300 * time.Second}, 8},
		{"1000 messages of 1 s within 100 s: 10 workers", policy.Spec{Name: "dynamic-backlog"},
			see{backlog: 1000, mpd: time.Second, latency: 100 * time.Second}, 10},
		{"1000 messages of 2 s within 100 s: 20 workers", policy.Spec{Name: "dynamic-backlog"},
			see{backlog: 1000, mpd: 2 * time.Second, latency: 100 * time.Second}, 20},
		{"workers of 4 slots accept four times the backlog", policy.Spec{Name: "dynamic-backlog"},
			see{backlog: 1000, mpd: time.Second, latency: 100 * time.Second, slots: 4}, 3},
		{"nothing measured yet: the initial value counts", policy.Spec{Name: "dynamic-backlog", Acceptable: 12},
			see{backlog: 50, latency: 300 * time.Second}, 5},
		{"nothing measured, no initial value, messages wait: one worker to measure",
			policy.Spec{Name: "dynamic-backlog"}, see{backlog: 50, latency: 300 * time.Second}, 1},
		{"7 of work on 10 slots is the target", utilization, see{backlog: 0, inFlight: 7, busy: 10}, 10},
		{"14 of work on 10 slots: 20 workers", utilization, see{backlog: 7, inFlight: 7, busy: 10}, 20},
		{"10 slots a worker", utilization, see{backlog: 60, inFlight: 10, busy: 1, slots: 10}, 10},
		{"work and no slots: at least one", utilization, see{backlog: 500}, 1},
		{"work, no slots and three booting: no fewer than those", utilization, see{backlog: 500, pending: 3}, 3},
		{"no work and no slots: none", utilization, see{}, 0},
		{"without a backlog only the messages in flight count", inFlightOnly,
			see{noBacklog: true, inFlight: 7, busy: 5}, 10},
		{"without a queue the busy slots count", reports, see{reportsOnly: true, busy: 7, idle: 3}, 10},
		{"queued and nobody there: one worker each", exact, see{backlog: 5}, 5},
		{"queued less pending", exact, see{backlog: 5, inFlight: 2, busy: 2, pending: 3}, 7},
		{"enough pending", exact, see{backlog: 3, inFlight: 2, busy: 2, pending: 3}, 5},
		{"an idle worker takes the message", exact, see{backlog: 1, inFlight: 2, busy: 2, idle: 1}, 3},
		{"a worker that reports busy while its message still counts as waiting is no reason to launch", exact,
			see{backlog: 2, busy: 1, idle: 1}, 2},
		{"an idle report that the queue contradicts counts as busy", exact,
			see{backlog: 1, inFlight: 3, busy: 2, idle: 1}, 4},
		{"steps by total work: those in flight count", policy.Spec{Name: "step", Metric: policy.MetricTotalWork,
			Steps: []policy.StepChange{{From: 10, Add: 2}}},
			see{backlog: 4, inFlight: 6, busy: 3}, 5},
		{"below the step nothing changes", policy.Spec{Name: "step", Metric: policy.MetricTotalWork,
			Steps: []policy.StepChange{{From: 10, Add: 2}}},
			see{backlog: 4, inFlight: 5, busy: 3}, 3},
		{"total work is not known without what is in flight", policy.Spec{Name: "step", Metric: policy.MetricTotalWork,
			Steps: []policy.StepChange{{From: 0, Add: 2}}},
			see{backlog: 4, noInFlight: true, busy: 3}, 3},
		{"messages that wait for their retry launch nobody", exact, see{inFlight: 3, retrying: 3}, 0},
		{"and take no slot from one that can be received", exact, see{backlog: 1, inFlight: 3, retrying: 3, idle: 1},
			1},
		{"others in flight do", exact, see{backlog: 1, inFlight: 3, retrying: 2, idle: 1}, 2},
		{"workers of 4 slots", exact, see{backlog: 9, slots: 4}, 3},
		{"a worker that drains holds its place and is none that comes", exact,
			see{backlog: 4, inFlight: 1, draining: 1, desired: 1, max: 1}, 1},
		{"silent workers hold places too", exact, see{backlog: 9, inFlight: 2, busy: 2, lost: 2, desired: 4, max: 5},
			5},
		{"nothing queued leaves the size alone", exact, see{inFlight: 2, busy: 2, idle: 5}, 7},
		{"four kept warm above two busy", policy.Spec{Name: "exact", HeadroomWorkers: 4}, see{inFlight: 2, busy: 2}, 6},
		{"four kept warm, and they are there already", policy.Spec{Name: "exact", HeadroomWorkers: 4},
			see{inFlight: 2, busy: 2, idle: 4}, 6},
		{"ten per cent kept warm, rounded up", policy.Spec{Name: "exact", HeadroomPercent: 10}, see{backlog: 11}, 13},
		{"headroom on a tracking policy", policy.Spec{Name: "backlog-per-worker", Acceptable: 10, HeadroomWorkers: 2},
			see{backlog: 30}, 5},
		{"the largest of two", policy.Spec{Name: "largest",
			Largest: []policy.Spec{{Name: "backlog-per-worker", Acceptable: 10}, {Name: "worker-utilization"}}},
			see{backlog: 30, inFlight: 5, busy: 5}, 50},
		{"one of two unknown: no fall",
			policy.Spec{Name: "largest", Largest: []policy.Spec{{Name: "backlog-per-worker", Acceptable: 10},
				{Name: "worker-utilization", Signal: "in-flight"}}},
			see{noBacklog: true, inFlight: 1, busy: 5}, 5},
		{"one of two unknown: still a rise",
			policy.Spec{Name: "largest", Largest: []policy.Spec{{Name: "backlog-per-worker", Acceptable: 10},
				{Name: "worker-utilization", Signal: "in-flight"}}},
			see{noBacklog: true, inFlight: 7, busy: 5}, 10},
		{"a wish above the maximum is cut and acted on", exact, see{backlog: 500, max: 20}, 20},
		{"the minimum holds without work", exact, see{min: 2, max: 10}, 2},
		{"a maximum below what is there is obeyed", exact, see{busy: 9, inFlight: 9, max: 4}, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := policy.New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			d := p.Decide(row.see.observation(), nil)
			if d.Desired != row.want {
				t.Errorf("desired %d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

func TestABimodalWorkloadBreaksAFixedBacklogByTwoAndAHalf(t *testing.T) {
	// Ten messages of 0.5 s were to take 5 s; once half of them take 2 s the mean is 1.25 s.
	if n := policy.AcceptableBacklog(5*time.Second, 500*time.Millisecond, 1); n != 10 {
		t.Fatalf("acceptable backlog %v, want 10", n)
	}
	if took := policy.DrainTime(10, 1250*time.Millisecond, 1); took != 12500*time.Millisecond {
		t.Fatalf("took %v, want 12.5s", took)
	}
	p, _ := policy.New(policy.Spec{Name: "backlog-per-worker", Acceptable: 10})
	d := p.Decide(see{backlog: 50, busy: 5, latency: 5 * time.Second, mpd: 1250 * time.Millisecond}.observation(), nil)
	if !strings.Contains(d.Sentence(), "now takes 13s, the objective is 5s") &&
		!strings.Contains(d.Sentence(), "12.5s") {
		t.Errorf("the drift is not explained: %s", d.Sentence())
	}
}

func TestWhatIsUnknownHoldsAndSaysWhy(t *testing.T) {
	for _, row := range []struct {
		name   string
		spec   policy.Spec
		see    see
		reason muster.Reason
	}{
		{"exact without a backlog", policy.Spec{Name: "exact"}, see{noBacklog: true, idle: 5}, muster.UnknownBacklog},
		{"exact without a listing would order twice", policy.Spec{Name: "exact"},
			see{backlog: 50, idle: 5, noListing: true}, muster.UnknownCapacity},
		{"backlog-per-worker without a backlog", policy.Spec{Name: "backlog-per-worker", Acceptable: 1},
			see{noBacklog: true, idle: 5}, muster.UnknownBacklog},
		{"backlog-per-worker would fall while messages in flight are unknown",
			policy.Spec{Name: "backlog-per-worker", Acceptable: 1}, see{noInFlight: true, idle: 5},
			muster.UnknownInFlight},
		{"backlog-per-worker would fall while the fleet is unknown",
			policy.Spec{Name: "backlog-per-worker", Acceptable: 1}, see{noListing: true, idle: 5},
			muster.UnknownCapacity},
		{"dynamic-backlog with nothing measured does not fall", policy.Spec{Name: "dynamic-backlog"}, see{idle: 5},
			muster.UnknownProcessing},
		{"worker-utilization without messages in flight", policy.Spec{Name: "worker-utilization"},
			see{noInFlight: true, idle: 5}, muster.UnknownInFlight},
		{"workers alone know of the work, and some are silent",
			policy.Spec{Name: "worker-utilization", Signal: "reports"},
			see{reportsOnly: true, busy: 1, lost: 9, desired: 10}, muster.UnknownInFlight},
		{"places are held by workers that drain", policy.Spec{Name: "exact"},
			see{backlog: 4, inFlight: 1, draining: 1, desired: 1, max: 1}, muster.NoRoom},
		{"launches fail: the rise waits", policy.Spec{Name: "exact"},
			see{backlog: 5, launches: muster.Launches{Failed: 3, RetryAt: t0.Add(time.Minute),
				LastError: "no such program"}}, muster.LaunchesFailing},
		{"launches fail: the size stays and says so", policy.Spec{Name: "exact"},
			see{backlog: 5, desired: 5, launches: muster.Launches{Failed: 3, RetryAt: t0.Add(time.Minute),
				LastError: "no such program"}}, muster.LaunchesFailing},
		{"the hour's launches are used up", policy.Spec{Name: "exact"},
			see{backlog: 5, launches: muster.Launches{LastHour: 1_000_000}}, muster.LaunchBudget},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := policy.New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			o := row.see.observation()
			d := p.Decide(o, nil)
			if d.Verdict != muster.Hold || d.Reason != row.reason || d.Desired != o.Capacity.Desired {
				t.Errorf("got %s for %q at %d, want a hold for %q at %d\n%s", d.Verdict, d.Reason, d.Desired,
					row.reason, o.Capacity.Desired, d.Sentence())
			}
			if d.Floor != d.Desired && strings.HasPrefix(string(d.Reason), "unknown_") &&
				d.Reason != muster.UnknownProcessing {
				t.Errorf("floor %d: workers might leave while a signal is unknown", d.Floor)
			}
		})
	}
}

func TestWindowsAndRates(t *testing.T) {
	ago := func(d time.Duration, wish, desired int) muster.Past {
		return muster.Past{At: t0.Add(-d), Wish: wish, Desired: desired}
	}
	out := func(s policy.Shape) policy.Spec {
		return policy.Spec{Name: "backlog-per-worker", Acceptable: 1, Out: s}
	}
	in := func(s policy.Shape) policy.Spec { return policy.Spec{Name: "backlog-per-worker", Acceptable: 1, In: s} }
	nine := policy.Shape{Stabilization: 9 * time.Second}
	for _, row := range []struct {
		name   string
		spec   policy.Spec
		see    see
		recent muster.Recent
		want   int
	}{
		{"a rise acts at once without a window", out(policy.Shape{}), see{backlog: 7}, nil, 7},
		{"a rise waits for a window that nobody has seen", out(nine), see{backlog: 7}, nil, 0},
		{"a rise waits for its window", out(nine), see{backlog: 7},
			muster.Recent{ago(60*time.Second, 0, 0), ago(8*time.Second, 7, 0)}, 0},
		{"a rise that lasted acts", out(nine), see{backlog: 7},
			muster.Recent{ago(60*time.Second, 0, 0), ago(9*time.Second, 7, 0)}, 7},
		{"a rise goes to the smallest wish of the window", out(nine), see{backlog: 7},
			muster.Recent{ago(10*time.Second, 5, 0), ago(3*time.Second, 9, 0)}, 5},
		{"a fall goes to the largest wish of the window", in(nine), see{backlog: 2, idle: 9},
			muster.Recent{ago(10*time.Second, 4, 9), ago(3*time.Second, 2, 9)}, 4},
		{"a fall whose window reaches back to a higher wish stays", in(nine), see{backlog: 2, idle: 9},
			muster.Recent{ago(20*time.Second, 12, 9), ago(3*time.Second, 2, 9)}, 9},
		{"a wish holds until the next one", in(nine), see{backlog: 2, idle: 9},
			muster.Recent{ago(20*time.Second, 12, 9), ago(9*time.Second, 2, 9)}, 2},
		{"at most four more within the period", out(policy.Shape{MaxWorkers: 4, Period: 15 * time.Second}),
			see{backlog: 100}, nil, 4},
		{"the larger of a number and a percentage",
			out(policy.Shape{MaxWorkers: 4, MaxPercent: 100, Period: 15 * time.Second}), see{backlog: 100, busy: 16},
			muster.Recent{ago(time.Minute, 16, 16)}, 32},
		{"what rose in this period counts", out(policy.Shape{MaxWorkers: 4, Period: 15 * time.Second}),
			see{backlog: 100, busy: 4}, muster.Recent{ago(time.Minute, 0, 0), ago(5*time.Second, 100, 4)}, 4},
		{"once the period is over it rises again", out(policy.Shape{MaxWorkers: 4, Period: 15 * time.Second}),
			see{backlog: 100, busy: 4}, muster.Recent{ago(time.Minute, 0, 0), ago(15*time.Second, 100, 4)}, 8},
		{"at most one fewer within the period", in(policy.Shape{MaxWorkers: 1, Period: time.Minute}),
			see{backlog: 0, idle: 5}, muster.Recent{ago(time.Hour, 5, 5)}, 4},
		{"a rate on falls leaves rises alone", in(policy.Shape{MaxWorkers: 1, Period: time.Minute}), see{backlog: 50},
			nil, 50},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := policy.New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			d := p.Decide(row.see.observation(), row.recent)
			if d.Desired != row.want {
				t.Errorf("desired %d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

func TestADecisionSaysEverythingInOneSentence(t *testing.T) {
	for _, row := range []struct {
		spec policy.Spec
		see  see
		want string
	}{
		{policy.Spec{Name: "exact"}, see{backlog: 5, inFlight: 2, busy: 2, pending: 3}, "up from 5 to 7: 5 waiting, " +
			"only 3 slots coming, so 2 more workers"},
		{policy.Spec{Name: "exact"}, see{backlog: 500, max: 20}, "up from 0 to 20: 500 waiting and no slot free or " +
			"coming, so 500 more workers; the maximum is 20"},
		{policy.Spec{Name: "dynamic-backlog"}, see{backlog: 48, mpd: 25 * time.Second, latency: 300 * time.Second},
			"up from 0 to 4: 48 waiting, 12 acceptable per worker (5m0s / 25s mean processing), so 4 workers"},
		{policy.Spec{Name: "exact"}, see{noBacklog: true, idle: 3}, "holding at 3: the backlog is unknown (queue q: " +
			"the source did not answer)"},
	} {
		p, _ := policy.New(row.spec)
		if got := p.Decide(row.see.observation(), nil).Sentence(); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}

func TestASpecSurvivesJSON(t *testing.T) {
	s := policy.Spec{Name: "largest", Largest: []policy.Spec{{Name: "backlog-per-worker", Acceptable: 3},
		{Name: "worker-utilization", Target: 0.5}},
		In: policy.Shape{Stabilization: time.Minute}}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back policy.Spec
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if string(again) != string(text) {
		t.Errorf("got %s, want %s", again, text)
	}
}

func TestFaultsOfASpecNameFieldAndWhatIsAllowed(t *testing.T) {
	for _, row := range []struct {
		name  string
		spec  policy.Spec
		field string
	}{
		{"an unknown policy", policy.Spec{Name: "exat"}, "policy"},
		{"no acceptable backlog", policy.Spec{Name: "backlog-per-worker"}, "policy.acceptable"},
		{"a target above one", policy.Spec{Name: "worker-utilization", Target: 1.5}, "policy.target"},
		{"an unknown signal", policy.Spec{Name: "worker-utilization", Signal: "cpu"}, "policy.signal"},
		{"one policy is not several",
			policy.Spec{Name: "largest", Largest: []policy.Spec{{Name: "worker-utilization"}}}, "policy.largest"},
		{"a negative window", policy.Spec{Name: "exact", In: policy.Shape{Stabilization: -1}},
			"scale_in.stabilization"},
		{"a window of a week", policy.Spec{Name: "exact", Out: policy.Shape{Stabilization: 7 * 24 * time.Hour}},
			"scale_out.stabilization"},
		{"a rate without a period", policy.Spec{Name: "exact", Out: policy.Shape{MaxWorkers: 3}}, "scale_out.period"},
		{"an unknown forecast", policy.Spec{Name: "deadline", Forecast: "weather"}, "policy.forecast"},
		{"a forecast for a policy without one", policy.Spec{Name: "exact", Forecast: policy.ForecastSeasonal},
			"policy.forecast"},
		{"headroom twice", policy.Spec{Name: "exact", HeadroomWorkers: 1, HeadroomPercent: 1}, "headroom"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := policy.New(row.spec)
			fault, ok := errors.AsType[*policy.Fault](err)
			if !ok || fault.Field != row.field || fault.Allowed == "" {
				t.Errorf("got %v, want a fault of %s", err, row.field)
			}
		})
	}
}
