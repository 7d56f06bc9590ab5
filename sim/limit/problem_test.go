package limit

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

func TestWhatIsNoProblem(t *testing.T) {
	const s = time.Second
	good := Problem{Trace: burst(3, s), Latency: s, Quantile: 1, Slots: 1}
	for _, row := range []struct {
		name  string
		spoil func(*Problem)
		want  string
	}{
		{"no trace", func(p *Problem) { p.Trace = trace.Trace{Name: "gone"} },
			`limit of trace "gone": the trace is absent; give one that can be opened`},
		{"no latency", func(p *Problem) { p.Latency = 0 },
			`limit of trace "burst": the latency objective is 0s; give more than 0s and at most 175200h0m0s`},
		{"a quantile in percent", func(p *Problem) { p.Quantile = 99 },
			`limit of trace "burst": the quantile is 99; give a share above 0 and at most 1`},
		{"a quantile that is no number", func(p *Problem) { p.Quantile = math.NaN() },
			`limit of trace "burst": the quantile is NaN; give a share above 0 and at most 1`},
		{"a negative boot", func(p *Problem) { p.Boot = -s },
			`limit of trace "burst": the boot time is -1s; give 0s to 175200h0m0s`},
		{"no slots", func(p *Problem) { p.Slots = 0 },
			`limit of trace "burst": the number of slots is 0; give 1 to 1000000`},
		{"a negative minimum", func(p *Problem) { p.Min = -1 },
			`limit of trace "burst": the minimum is -1; give 0 to 1000000`},
		{"a maximum below the minimum", func(p *Problem) { p.Min, p.Max = 3, 2 },
			`limit of trace "burst": the maximum is 2; give 0 for none, or the minimum, 3, to 1000000`},
		{"an empty trace", func(p *Problem) { p.Trace = trace.Of("empty") },
			`limit of trace "empty": it has no message; give one with at least one`},
		{"arrivals out of order", func(p *Problem) {
			p.Trace = trace.Of("mixed", trace.Message{Arrival: s}, trace.Message{})
		}, `limit of trace "mixed": message 2 has the arrival 0s; allowed is one that is not before the message before, at 1s`},
		{"a negative service", func(p *Problem) {
			p.Trace = trace.Of("back", trace.Message{Service: -s})
		}, `limit of trace "back": message 1 has a service of -1s at 0s; allowed are 0s to 175200h0m0s`},
		{"more work than can be counted", func(p *Problem) {
			p.Trace = trace.Of("vast", trace.Message{Service: longest}, trace.Message{Service: longest},
				trace.Message{Service: longest}, trace.Message{Service: longest})
		}, `limit of trace "vast": message 4 brings the work above 2.305843009213694e+09 worker-seconds, which is the most; cut the trace`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := good
			row.spoil(&p)
			if _, err := Read(p); err == nil || err.Error() != row.want {
				t.Errorf("Read says %v\nwant %s", err, row.want)
			}
			if _, err := Oracle(p, Prescient); err == nil || err.Error() != row.want {
				t.Errorf("Oracle says %v\nwant %s", err, row.want)
			}
		})
	}
	broken := errors.New("line 7 is cut off")
	p := good
	p.Trace.Open = func() (trace.Reader, error) { return nil, broken }
	if _, err := Read(p); !errors.Is(err, broken) {
		t.Errorf("a trace that cannot be read gives %v", err)
	}
}

// The memory of a profile does not depend on how many messages there are, nor on how long the trace is.
func TestAProfileIsBounded(t *testing.T) {
	for _, row := range []struct {
		name     string
		messages int
		gap      time.Duration
	}{
		{"many at once", 100_000, 0},
		{"a year", 100_000, 5 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			var all []trace.Message
			for i := range row.messages {
				all = append(all, trace.Message{Arrival: time.Duration(i) * row.gap,
					Service: time.Duration(1+i%30) * time.Second})
			}
			f, err := Read(Problem{Trace: trace.Of(row.name, all...), Latency: time.Minute, Quantile: 0.99,
				Boot: time.Minute, Slots: 1})
			if err != nil {
				t.Fatal(err)
			}
			classes := 0
			for _, s := range f.slots {
				classes += len(s.classes)
			}
			// Services of 1 s to 30 s have 30 to 35 binary digits.
			if f.length() > mostSlots || classes > 6*len(f.slots) || f.Messages() != int64(row.messages) {
				t.Errorf("%d messages make %d slots of time with %d classes", f.Messages(), f.length(), classes)
			}
		})
	}
}

// A message longer than the objective cannot be in time; it costs its work and excuses no other.
func TestUnattainableMessagesCostTheirWorkOnly(t *testing.T) {
	const s = time.Second
	p := Problem{Trace: trace.Of("long", trace.Message{Service: 100 * s}, trace.Message{Service: 2 * s}),
		Latency: 10 * s, Quantile: 1, Boot: 5 * s, Slots: 1}
	f, err := Read(p)
	if err != nil {
		t.Fatal(err)
	}
	if f.Ceiling() != 0.5 {
		t.Errorf("the ceiling is %v, want 0.5", f.Ceiling())
	}
	if got := f.Work().WorkerSeconds; math.Abs(got-107) > 1e-6 {
		t.Errorf("the work costs %v, want 107", got)
	}
	p.Shed = true
	if f, err = Read(p); err != nil {
		t.Fatal(err)
	}
	if got := f.Work().WorkerSeconds; math.Abs(got-7) > 1e-6 {
		t.Errorf("with the long message left undone, the work costs %v, want 7", got)
	}
	if s, err := Oracle(p, Prescient); err != nil || !s.Kept || s.Late != 1 || s.WorkerSeconds != 7 {
		t.Errorf("the schedule is %+v, %v", s, err)
	}
}

func TestTreesHaveBoundsAndNoSchedule(t *testing.T) {
	const s = time.Second
	root := trace.Message{Service: s,
		Children: []trace.Message{{Service: 2 * s},
			{Arrival: s, Service: 3 * s, Children: []trace.Message{{Service: 4 * s}}}}}
	p := Problem{Trace: trace.Of("tree", root), Latency: 5 * s, Quantile: 1, Boot: s, Slots: 1}
	f, err := Read(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Strongest(f, 100)
	if err != nil {
		t.Fatal(err)
	}
	if got := all.Prescient.WorkerSeconds; f.Messages() != 4 || math.Abs(got-11) > 1e-6 {
		t.Errorf("%d messages cost %v, want 4 and 11", f.Messages(), got)
	}
	if _, err := Oracle(p, Prescient); err == nil ||
		!strings.Contains(err.Error(), "4 messages, 3 of them children") {
		t.Errorf("a schedule of a tree: %v", err)
	}
}

// busy returns a trace of busy times, which begin at equal distances: in each a message comes every so often.
func busy(times int, length, distance, every, service time.Duration) trace.Trace {
	var all []trace.Message
	for i := range times {
		for at := time.Duration(0); at < length; at += every {
			all = append(all, trace.Message{Arrival: time.Duration(i)*distance + at, Service: service})
		}
	}
	return trace.Of("busy", all...)
}

func TestAnObjectiveThatNobodyCanKeepIsUnreachable(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name  string
		p     Problem
		start Start
		want  bool
	}{
		{"a boot longer than the objective, launched with the message",
			Problem{Trace: burst(4, s), Latency: 5 * s, Quantile: 1, Boot: 20 * s, Slots: 1}, Causal, true},
		{"the same, launched ahead", Problem{Trace: burst(4, s), Latency: 5 * s, Quantile: 1, Boot: 20 * s, Slots: 1},
			Prescient, false},
		{"the same with a worker that is there", Problem{Trace: burst(4, s), Latency: 5 * s, Quantile: 1, Boot: 20 * s,
			Slots: 1, Min: 1}, Causal, false},
		{"a message without work at the very deadline", Problem{Trace: burst(1, 0), Latency: 20 * s, Quantile: 1,
			Boot: 20 * s, Slots: 1}, Causal, false},
		{"too many messages for the maximum", Problem{Trace: burst(11, s), Latency: 5 * s, Quantile: 1, Slots: 1,
			Max: 2}, Prescient, true},
		{"a load of twice the maximum, and most messages may be late", Problem{Trace: busy(1, 20*time.Minute, 0, s,
			2*s), Latency: 30 * s, Quantile: 0.4, Slots: 1, Max: 1}, Prescient, false},
		{"a load of twice the maximum, and few messages may be late", Problem{Trace: busy(1, 20*time.Minute, 0, s,
			2*s), Latency: 30 * s, Quantile: 0.9, Slots: 1, Max: 1}, Prescient, true},
		{"a load of the maximum in two busy times that are too long together", Problem{
			Trace: busy(2, 10*time.Minute, time.Hour, s, 2*s), Latency: 5 * time.Minute, Quantile: 0.8, Slots: 1,
			Max: 1}, Prescient, true},
		{"just few enough for the maximum", Problem{Trace: burst(10, s), Latency: 5 * s, Quantile: 1, Slots: 1, Max: 2},
			Prescient, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := Read(row.p)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Strongest(f, 100)
			if err != nil {
				t.Fatal(err)
			}
			got := map[Start]Bound{Prescient: all.Prescient, Causal: all.Causal}[row.start]
			s, err := Oracle(row.p, row.start)
			if err != nil {
				t.Fatal(err)
			}
			if got.Unreachable != row.want || s.Kept == row.want {
				t.Errorf("unreachable is %v and kept %v, want %v and %v", got.Unreachable, s.Kept, row.want, !row.want)
			}
		})
	}
}

func TestTheSameProfileGivesTheSameBytes(t *testing.T) {
	f, b, p := twoBursts(t)
	again, err := f.Prices(Prescient, 500)
	if err != nil || !reflect.DeepEqual(again, b) {
		t.Errorf("a second search gives %v, %v", again, err)
	}
	first, err := Oracle(p, Causal)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Oracle(p, Causal); err != nil || first != second {
		t.Errorf("a second schedule is %+v, %v; the first was %+v", second, err, first)
	}
}

func TestSlackByHand(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name                   string
		latency, service, boot time.Duration
		want                   float64
	}{
		{"two boots to spare", 300 * s, 30 * s, 90 * s, 2},
		{"just not enough", 100 * s, 20 * s, 80 * s, 0},
		{"no launch is in time", 30 * s, 30 * s, 60 * s, -1},
		{"no boot", 30 * s, 30 * s, 0, math.Inf(1)},
		{"no boot and too long", 30 * s, 31 * s, 0, math.Inf(-1)},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Slack(row.latency, row.service, row.boot); got != row.want {
				t.Errorf("the slack ratio is %v, want %v", got, row.want)
			}
		})
	}
}
