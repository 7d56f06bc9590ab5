package tables_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/tables"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/statistics"
	"github.com/muster-scale/muster/sim/world"
)

func TestAShareHasAboutFourDigits(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0.995: "99.5 %", 0.99999: "100 %", 0.123456: "12.35 %",
		0: "0 %"} {
		if got := tables.Percent(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
}

func TestThePageSumsUpEachPolicyOverAllTraces(t *testing.T) {
	event := func(name string) contest.Event {
		return contest.Event{Name: name, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
			World: world.World{Boot: world.Draw{Mean: time.Minute}, Slots: 2}}
	}
	rows := []contest.Row{
		{Event: "a", Policy: "exact", InTimeLeast: 1, InTimeMean: 1, RatioMean: 2, RatioMost: 2, Runs: 1},
		{Event: "a", Policy: "keda*", InTimeLeast: 0.9, InTimeMean: 0.9, RatioMean: 1, RatioMost: 1, Runs: 1},
		{Event: "b", Policy: "exact", InTimeLeast: 0.995, InTimeMean: 1, RatioMean: 8, RatioMost: 8, Runs: 1},
	}
	var out bytes.Buffer
	tables.Page(&out, "muster compare", []contest.Event{event("a"), event("b")}, rows)
	for _, want := range []string{
		"Written by `muster compare`; do not edit.", "| exact | 2 of 2 | 4.00 | 8.00 | 99.5 % |",
		`| keda\* | 0 of 1 | - | - | 90 % |`,
		"\n## a\n", "\n## b\n", "a worker boots in 1m0s and has 2 slots",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page does not say %q:\n%s", want, &out)
		}
	}
}

func TestATraceIsDescribedByALineForEachThing(t *testing.T) {
	tr, err := trace.Load("step:rate=1,to=10,at=60s,duration=120s", trace.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	goal := statistics.Goal{Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99}, Slots: 1}
	stats, err := statistics.Measure(tr, goal)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	tables.Statistics(&out, stats, goal)
	for _, want := range []string{"  rate        ", "  arrivals    ", "  service     mean ", "  load        ",
		"unknown without --boot"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
}
