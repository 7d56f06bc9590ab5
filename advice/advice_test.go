package advice_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// took is a histogram of n durations of d.
func took(n int, d time.Duration) series.Durations {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d
	}
	return series.Add(series.Durations{}, all...)
}

// used is the usage of n calls of 2 s that used the given number of cores, on a member with 2 cores and 4 GiB.
func used(n int64, cores float64) protocol.Usage {
	return protocol.Usage{Calls: n, WallSeconds: float64(2 * n), CPUSeconds: cores * float64(2*n), PeakBytes: 100 << 20,
		Cores: 2, MemoryBytes: 4 << 30}
}

// usual is a fleet of an Auto Scaling group whose values fit: each member has 10 slots that use 1.4 of 2 cores.
func usual() (advice.Stated, advice.Measured) {
	s := advice.Stated{Slots: 10, Batch: 1, Reported: true, Boot: 90 * time.Second, Visibility: 30 * time.Second,
		Retention: 96 * time.Hour, Objective: muster.Objective{Latency: 5 * time.Minute, Quantile: 0.99},
		Limits: muster.Limits{Max: 20, LaunchesPerHour: 200}, Price: 0.1}
	m := advice.Measured{Window: 48 * time.Hour, Covered: 48 * time.Hour, Processing: took(4000, 2*time.Second),
		Boots: took(30, 90*time.Second), Ended: 4000, InTime: 3980, Usage: used(4000, 0.14), Utilization: 0.7,
		SlotSeconds: 48 * 3600 * 50, SlotsPerMember: 10, PeakSize: 12, PeakBusy: 110, MeanBusy: 30, OldestKnown: true,
		Oldest: 3 * time.Minute}
	return s, m
}

func TestAdviceOfS2AndOfEachRule(t *testing.T) {
	type fleet struct {
		s *advice.Stated
		m *advice.Measured
	}
	for _, row := range []struct {
		name   string
		change func(f fleet)
		rule   string // the rule that must say something
		want   string // KEY OLD -> NEW, or "unjudged", or "fits"
		words  string // what its reason must say
	}{
		{"everything fits", func(fleet) {}, "processor time", "fits", ""},
		{"workers wait for the database and the processor is idle", func(f fleet) { f.m.Usage = used(4000, 0.01) },
			"processor time", "workers.slots 10 -> 32", "the work waits, it does not compute"},
		{"a few more slots fit", func(f fleet) { f.s.Slots, f.m.SlotsPerMember, f.m.Usage = 2, 2, used(4000, 0.35) },
			"processor time", "workers.slots 2 -> 4", "70 % of the slots were busy"},
		{"instances are too large and memory has no room for slots", func(f fleet) {
			f.m.Usage = used(4000, 0.01)
			f.m.Usage.PeakBytes = 400 << 20
		}, "processor time", " 2 cores -> about 0.25 cores", "too large"},
		{"instances are undersized", func(f fleet) {
			f.s.Slots, f.m.SlotsPerMember, f.m.Usage, f.m.PeakBusy = 1, 1, used(4000, 1.95), 12
		},
			"processor time", " 2 cores -> more or faster cores", "too small"},
		{"too many slots for the cores", func(f fleet) { f.m.Usage = used(4000, 0.3) },
			"processor time", "workers.slots 10 -> 6", "wait for each other's processor time"},
		{"fewer slots would not carry the measured peak", func(f fleet) {
			f.m.Usage, f.m.PeakBusy = used(4000, 0.3), 199
		}, "processor time", " 2 cores -> more or faster cores", ""},
		{"mixed instance types count by their time", func(f fleet) {
			f.m.Usage = protocol.MergeUsage(used(2000, 0.01), used(2000, 0.05))
		}, "processor time", "workers.slots 10 -> 32", ""},
		{"workers report other slots than stated", func(f fleet) { f.m.SlotsPerMember = 24 }, "slots",
			"workers.slots 10 -> 24", "workers report 24 slots"},
		{"with other slots the processor says nothing", func(f fleet) { f.m.SlotsPerMember = 24 }, "processor time",
			"unjudged", "not those that workers report"},
		{"a part of the members has one slot less", func(f fleet) { f.m.SlotsPerMember = 9.6 }, "slots", "fits", ""},
		{"no member reported", func(f fleet) { f.m.SlotsPerMember = 0 }, "slots", "unjudged", "no worker reported"},
		{"too few calls", func(f fleet) { f.m.Usage = used(20, 0.01) }, "processor time", "unjudged", "only 20 calls"},
		{"nothing measured is not zero", func(f fleet) { f.m.Usage = protocol.Usage{} }, "processor time", "unjudged",
			"no processor time was measured"},
		{"CPU is consistently low while slots are at their target", func(f fleet) {
			f.m.Usage, f.m.CPU, f.m.CPUPoints = protocol.Usage{}, 0.07, 288
		}, "processor time", "workers.slots 10 -> 40", "CPUUtilization is 7 % while 70 % of the slots are busy"},
		{"CPU is consistently high while slots are at their target", func(f fleet) {
			f.s.Reported, f.m.CPU, f.m.CPUPoints = false, 0.68, 288
		}, "processor time", " the present size -> more or faster cores", "too small"},
		{"CPU in between", func(f fleet) { f.m.Usage, f.m.CPU, f.m.CPUPoints = protocol.Usage{}, 0.45, 288 },
			"processor time", "fits", ""},
		{"the slots are hardly busy", func(f fleet) {
			f.m.Usage, f.m.CPU, f.m.CPUPoints, f.m.Utilization = protocol.Usage{}, 0.01, 288, 0.02
		}, "processor time", "unjudged", "2 % of the slots were busy"},
		{"half an hour of CPU", func(f fleet) { f.m.Usage, f.m.CPU, f.m.CPUPoints = protocol.Usage{}, 0.01, 6 },
			"processor time", "unjudged", "6 datapoints"},
		{"CPU may not be read", func(f fleet) { f.m.Usage, f.m.CPUUnknown = protocol.Usage{}, "AccessDenied" },
			"processor time", "unjudged", "AccessDenied"},
		{"workers do not report", func(f fleet) { f.s.Reported = false }, "processor time", "unjudged",
			"do not report"},
		{"processes of this machine exceed its cores", func(f fleet) {
			f.s.Local, f.s.Slots, f.m.PeakSize, f.m.PeakBusy, f.m.Usage = true, 1, 2, 2, used(4000, 0.95)
		}, "processor time", "max 20 -> 2", "slower"},
		{"slots exceed the memory", func(f fleet) { f.m.Usage.PeakBytes = 1 << 30 }, "memory",
			" 4 GiB -> at least 12.5 GiB",
			"up to 1 GiB"},
		{"slots exceed the memory, and fewer carry the peak", func(f fleet) {
			f.m.Usage.PeakBytes, f.m.PeakBusy = 1<<30, 20
		}, "memory", "workers.slots 10 -> 3", ""},
		{"thumbnails became 4K photos", func(f fleet) {
			f.s.Processing = 500 * time.Millisecond
			f.m.Processing = series.Merge(took(2000, 500*time.Millisecond), took(2000, 2*time.Second))
		}, "processing duration", "policy.processing 500ms -> 1.3s", "1.25s on average"},
		{"a stated mean that is right", func(f fleet) { f.s.Processing = 2 * time.Second }, "processing duration",
			"fits", ""},
		{"boots are slower than stated", func(f fleet) { f.s.Boot = time.Second }, "boot time",
			"workers.boot 1s -> 1m30s", "1m30s on average"},
		{"three boots are too few", func(f fleet) { f.m.Boots = took(3, time.Minute) }, "boot time", "unjudged",
			"3 boots"},
		{"the work alone exceeds the objective", func(f fleet) { f.m.Processing = took(4000, 10*time.Minute) },
			"objective", "objective.latency 5m -> 15m", "no number of workers"},
		{"no worker is there in time", func(f fleet) {
			f.m.InTime, f.m.Boots, f.m.MeanBusy = 3000, took(30, 6*time.Minute), 14
		}, "minimum", "min 0 -> 2", "75 % of 4000 messages were in time"},
		{"the maximum was met and messages were late", func(f fleet) {
			f.m.InTime, f.m.PeakSize, f.m.AtMax = 3000, 33, 20*time.Minute
		}, "maximum", "max 20 -> 33", "for 20m0s"},
		{"a larger maximum would exceed the cores of this machine", func(f fleet) {
			f.s.Local, f.s.Slots, f.m.Usage, f.s.Limits.Max = true, 1, used(4000, 0.5), 4
			f.m.InTime, f.m.PeakSize, f.m.AtMax = 3000, 33, 20*time.Minute
		}, "maximum", "unjudged", "this machine has cores for 4"},
		{"the maximum was met and nothing was late", func(f fleet) { f.m.PeakSize, f.m.AtMax = 33, time.Hour },
			"maximum", "fits", ""},
		{"the maximum is far above any need", func(f fleet) { f.s.Limits.Max = 500 }, "maximum", "max 500 -> 24",
			"no more than 12 workers"},
		{"a short window does not lower the maximum", func(f fleet) { f.s.Limits.Max, f.m.Covered = 500, 2*time.Hour },
			"maximum", "fits", ""},
		{"a lost worker's message comes back too late", func(f fleet) {
			f.s.Visibility, f.m.MembersLost = time.Hour, 2
		}, "visibility timeout", "workers.visibility 1h -> 1m15s", "2 members were lost"},
		{"no worker was lost", func(f fleet) { f.s.Visibility = time.Hour }, "visibility timeout", "unjudged",
			"no worker was lost"},
		{"no message was handled", func(f fleet) { f.m.Processing = series.Durations{} }, "visibility timeout",
			"unjudged", "0 messages finished"},
		{"workers were lost and their messages came back in time", func(f fleet) { f.m.MembersLost = 2 },
			"visibility timeout", "fits", ""},
		{"visibility timeouts ended during work", func(f fleet) { f.m.LeasesLost = 5 }, "visibility timeout",
			"workers.visibility 30s -> 1m", "5 messages"},
		{"messages become nearly too old", func(f fleet) { f.m.Oldest = 50 * time.Hour }, "retention",
			"queue.retention 96h -> 200h", "50h"},
		{"no age is known", func(f fleet) { f.m.OldestKnown = false }, "retention", "unjudged", "never known"},
		{"no price", func(f fleet) { f.s.Price = 0 }, "price", "unjudged", "worker-hours"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, m := usual()
			row.change(fleet{&s, &m})
			got, why := said(advice.Of(s, m), row.rule)
			if got != row.want || !strings.Contains(why, row.words) {
				t.Errorf("%s: found %q, because %s\nwant  %q, because ... %s", row.rule, got, why, row.want, row.words)
			}
		})
	}
}

// said returns what a report says by a rule.
func said(r advice.Report, rule string) (what, why string) {
	for _, a := range r.Advice {
		if a.Rule == rule {
			return string(a.Key) + " " + a.Old + " -> " + a.New, a.Why
		}
	}
	for _, u := range r.Unjudged {
		if u.Rule == rule {
			return "unjudged", u.Why
		}
	}
	return "fits", ""
}

func TestAFleetThatFitsGetsNoAdvice(t *testing.T) {
	s, m := usual()
	if r := advice.Of(s, m); len(r.Advice) > 0 || len(r.Unjudged) > 0 || len(r.Fits) != 11 {
		t.Errorf("found %+v", r)
	}
}

func TestNothingMeasuredGivesNoAdvice(t *testing.T) {
	s, _ := usual()
	if r := advice.Of(s, advice.Measured{}); len(r.Advice) > 0 || len(r.Unjudged) < 6 {
		t.Errorf("found %+v", r)
	}
}

func TestConfidenceGrowsWithSamplesAndIsNeverHighWithinADay(t *testing.T) {
	for _, row := range []struct {
		calls   int64
		covered time.Duration
		want    advice.Confidence
	}{
		{40, 48 * time.Hour, advice.Low}, {400, 48 * time.Hour, advice.Medium}, {4000, 48 * time.Hour, advice.High},
		{4000, time.Hour, advice.Medium},
	} {
		s, m := usual()
		m.Usage, m.Covered = used(row.calls, 0.01), row.covered
		r := advice.Of(s, m)
		if len(r.Advice) == 0 || r.Advice[0].Confidence != row.want || r.Advice[0].Samples != row.calls {
			t.Errorf("%d calls in %s: found %+v, want %s", row.calls, row.covered, r.Advice, row.want)
		}
	}
}

func TestAdviceNeverGoesBelowThePeakNorRestsOnTooLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, m := drawn(t)
		r := advice.Of(s, m)
		if again := advice.Of(s, m); !reflect.DeepEqual(r, again) {
			t.Fatalf("found %+v, then %+v", r, again)
		}
		if n := len(r.Advice) + len(r.Unjudged) + len(r.Fits); n != 11 {
			t.Fatalf("%d rules were applied, want 11: %+v", n, r)
		}
		if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), "NaN") ||
			strings.Contains(string(text), "Inf") {
			t.Fatalf("found %s, %v", text, err)
		}
		for _, a := range r.Advice {
			switch a.Key {
			case advice.Slots:
				if a.Rule == "slots" {
					break // it is what workers have already
				}
				if a.Whole < 1 || a.Whole > 1000 || a.Whole < s.Slots && a.Whole*s.Batch*s.Limits.Max < m.PeakBusy ||
					(m.Usage.Calls < 30 || m.Usage.WallSeconds < 60) && m.CPUPoints < 12 {
					t.Fatalf("%+v of %+v", a, m)
				}
			case advice.Max:
				if a.Whole < s.Limits.Min || a.Whole < s.Limits.Max && a.Whole < m.PeakSize || a.Whole > 10_000 {
					t.Fatalf("%+v, and the peak was %d", a, m.PeakSize)
				}
			case advice.Min:
				if a.Whole < 1 || a.Whole > s.Limits.Max || m.Ended < 30 {
					t.Fatalf("%+v of %+v", a, m)
				}
			case advice.Boot, advice.Processing:
				if a.Duration <= 0 {
					t.Fatalf("%+v", a)
				}
			case advice.Latency, advice.QueueRetention:
				if old := map[advice.Key]time.Duration{advice.Latency: s.Objective.Latency,
					advice.QueueRetention: s.Retention}[a.Key]; a.Duration <= old {
					t.Fatalf("%+v lowers it", a)
				}
			case advice.Visibility:
				if a.Duration < 10*time.Second && a.Duration < s.Visibility || a.Duration > 12*time.Hour {
					t.Fatalf("%+v", a)
				}
			case advice.Members:
			default:
				t.Fatalf("%+v has an unknown key", a)
			}
			if a.Confidence != advice.Low && a.Confidence != advice.Medium && a.Confidence != advice.High ||
				a.Old == a.New || a.Why == "" || a.Samples < 1 {
				t.Fatalf("%+v", a)
			}
		}
	})
}

// drawn is any fleet.
func drawn(t *rapid.T) (advice.Stated, advice.Measured) {
	number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	lasting := func(name string, least, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, name))
	}
	s := advice.Stated{Slots: 1 + number("slots", 99), Batch: 1 + number("batch", 9), Local: rapid.Bool().Draw(t,
		"local"),
		Reported: rapid.Bool().Draw(t, "reported"), Boot: lasting("boot", 0, time.Hour),
		Processing: lasting("processing", 0, time.Minute), Visibility: lasting("visibility", 0, 12*time.Hour),
		Retention: lasting("retention", 0, 14*24*time.Hour),
		Objective: muster.Objective{Latency: lasting("latency", time.Millisecond, time.Hour), Quantile: 0.99}}
	s.Limits.Max = 1 + number("max", 200)
	s.Limits.Min = number("min", s.Limits.Max)
	m := advice.Measured{Covered: lasting("covered", 0, 200*time.Hour),
		Processing: took(number("messages", 100), lasting("took", 0, time.Hour)),
		Boots:      took(number("boots", 30), lasting("booted in", 0, time.Hour)), Ended: float64(number("ended",
			1000)),
		SlotsPerMember: rapid.SampledFrom([]float64{0, 1, 7.5, 3000}).Draw(t, "reported"), PeakSize: number("peak",
			500),
		PeakBusy: number("busy", 2000), MeanBusy: float64(number("mean", 500)),
		AtMax: lasting("at max", 0, time.Hour), OldestKnown: rapid.Bool().Draw(t, "known"),
		Oldest: lasting("oldest", 0, 20*24*time.Hour), LeasesLost: number("lost", 5), MembersLost: number("members", 3)}
	if rapid.Bool().Draw(t, "CPU") {
		m.CPU, m.CPUPoints = rapid.Float64Range(0, 1.5).Draw(t, "share"), number("points", 300)
		m.Utilization, m.SlotSeconds = rapid.Float64Range(0, 1).Draw(t, "utilization"), float64(number("slot-s", 2))
	}
	m.InTime = m.Ended * rapid.Float64Range(0, 1).Draw(t, "in time")
	if rapid.Bool().Draw(t, "measured") {
		m.Usage = protocol.Usage{Calls: int64(number("calls", 100)), WallSeconds: rapid.Float64Range(0,
			1e4).Draw(t, "wall"),
			CPUSeconds: rapid.Float64Range(0, 1e5).Draw(t, "cpu"), Cores: rapid.Float64Range(0, 64).Draw(t, "cores"),
			PeakBytes: rapid.Int64Range(0, 1<<40).Draw(t, "bytes"), MemoryBytes: rapid.Int64Range(0, 1<<40).Draw(t,
				"all")}
	}
	return s, m
}

func TestAnEffectIsWorthItIfMoreIsInTimeOrTheSameCostsLess(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after advice.Effect
		want          bool
	}{
		{"more in time", advice.Effect{InTime: 0.9, WorkerHours: 10}, advice.Effect{InTime: 0.99, WorkerHours: 20},
			true},
		{"cheaper", advice.Effect{InTime: 0.995, WorkerHours: 10}, advice.Effect{InTime: 0.99, WorkerHours: 5}, true},
		{"cheaper and late", advice.Effect{InTime: 0.99, WorkerHours: 10}, advice.Effect{InTime: 0.9,
			WorkerHours: 5}, false},
		{"more than the objective needs", advice.Effect{InTime: 0.99, WorkerHours: 10},
			advice.Effect{InTime: 1, WorkerHours: 20}, false},
		{"no difference", advice.Effect{InTime: 1, WorkerHours: 10}, advice.Effect{InTime: 1, WorkerHours: 10}, true},
	} {
		if got := advice.Effects(row.before, row.after, 0.99); got != row.want {
			t.Errorf("%s: found %t", row.name, got)
		}
	}
}
