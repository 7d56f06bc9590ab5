package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheSteadyRunIsJudged(t *testing.T) {
	good := steadyComparison{
		Real:          steadyResult{Messages: 100, Processed: 100, InTimeRatio: 1, PeakWorkers: 8, Launches: 8, WorkerSeconds: 900},
		Simulated:     steadyResult{Messages: 100, Processed: 100, InTimeRatio: 1, PeakWorkers: 7, Launches: 9, WorkerSeconds: 850},
		NeededWorkers: 6.2,
	}
	for _, x := range []struct {
		name   string
		change func(*steadyComparison)
		says   string
	}{
		{"alike", func(*steadyComparison) {}, ""},
		{"more workers than simulated", func(x *steadyComparison) { x.Real.PeakWorkers = 12 }, "peak workers, real 12, simulated 7: found -5"},
		{"more launches than simulated", func(x *steadyComparison) { x.Simulated.Launches = 30 }, "launches, real 8, simulated 30: found +22"},
		{"cheaper than simulated", func(x *steadyComparison) { x.Real.WorkerSeconds = 400 }, "worker-seconds, real 400.0 s, simulated 850.0 s: found +112.5 %"},
		{"later than simulated", func(x *steadyComparison) { x.Real.InTimeRatio = 0.9 }, "in time, real 90.00 %"},
		{"a storm in both", func(x *steadyComparison) { x.Real.PeakWorkers, x.Simulated.PeakWorkers = 42, 42 }, "peak beside the load, real 42"},
		{"worked on twice", func(x *steadyComparison) { x.Real.Twice = 3 }, "3 messages processed more than once"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := good
			x.change(&c)
			err := c.disagreement()
			if x.says == "" && err != nil || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
				t.Errorf("found %v, want one that says %q", err, x.says)
			}
			var page bytes.Buffer
			if err := c.print(&page); err != nil || strings.Count(page.String(), "\n") != 8 {
				t.Errorf("found %q, %v, want a headline and a table of five figures", page.String(), err)
			}
		})
	}
}

// Workers of a steady run wait for messages now and then. That is not part of the way to the next one.
func TestTheWayToTheNextMessageLeavesOutWaitingForIt(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	message := func(sent, began, done int) finish { return finish{sent: at(sent), began: at(began), done: at(done)} }
	for _, x := range []struct {
		name    string
		workers map[string][]finish
		want    time.Duration
	}{
		{"no worker", nil, 0},
		{"one message", map[string][]finish{"a": {message(0, 10, 30)}}, 0},
		{"the next comes later", map[string][]finish{"a": {message(0, 10, 30), message(50, 52, 72)}}, 0},
		{"the next comes just before", map[string][]finish{"a": {message(0, 10, 30), message(20, 33, 53)}}, 0},
		{"the median of two workers, in any order", map[string][]finish{
			"a": {message(0, 534, 554), message(0, 510, 530)}, "b": {message(0, 500, 520), message(0, 523, 543), message(0, 552, 572)}}, 4 * time.Millisecond},
	} {
		if got := wayToTheNext(x.workers); got != x.want {
			t.Errorf("%s: found %s, want %s", x.name, got, x.want)
		}
	}
}

// A steady run in the simulator is judged as the real one is, here beside itself: short messages make no storm.
func TestASimulatedSteadyRunLaunchesNoStorm(t *testing.T) {
	_, r := steadyConfig(t.TempDir(), "muster")
	const length = 30 * time.Second
	var c circumstances
	for i := range steadyMessages(length) {
		c.sent, c.work = append(c.sent, time.Duration(i)*steadyEvery), append(c.work, steadyWork+time.Millisecond)
	}
	c.boots, c.handover = []time.Duration{steadyStart}, 4*time.Millisecond
	tally, err := simulateRun(r, c)
	if err != nil {
		t.Fatal(err)
	}
	x := tally.steady(r, steadyMessages(length))
	both := steadyComparison{Real: x, Simulated: x, NeededWorkers: 6.25}
	if err := both.disagreement(); err != nil || x.Processed != x.Messages || x.InTimeRatio != 1 || x.PeakWorkers < 6 {
		t.Errorf("found %+v, %v, want all messages in time with six workers or a few more", x, err)
	}
}

func TestSleepLinesKeepsTheProtocol(t *testing.T) {
	var out, log bytes.Buffer
	in := `{"type":"hello","protocol":1,"batch":1,"slot":0}
{"type":"later","field":1}
{"type":"work","messages":[{"delivery":"1","id":"a","queue":"jobs","sent_at":"2026-01-02T03:04:05.678Z","body":"1ms"}]}
{"type":"work","messages":[{"delivery":"2","id":"b","queue":"jobs","sent_at":"2026-01-02T03:04:05.678Z","body":"long"},{"delivery":"3","body":"2h"}]}
`
	if err := sleepLines(strings.NewReader(in), &out, &log, 7); err != nil {
		t.Fatal(err)
	}
	want := `{"type":"ready","protocol":1}
{"type":"done","delivery":"1","ok":true}
{"type":"done","delivery":"2","ok":false,"error":"the message body: found \"long\", allowed is a duration of at most 1m, such as 20ms"}
{"type":"done","delivery":"3","ok":false,"error":"the message body: found \"2h\", allowed is a duration of at most 1m, such as 20ms"}
`
	if out.String() != want {
		t.Errorf("found %s, want %s", &out, want)
	}
	if fields := strings.Fields(log.String()); len(fields) != 6 || !slices.Equal(fields[:3], []string{"jobs", "a", "2026-01-02T03:04:05.678Z"}) || fields[4] != "7" {
		t.Errorf("found %q, want one line with six words", log.String())
	}
	if err := sleepLines(strings.NewReader("text\n"), io.Discard, nil, 7); err == nil {
		t.Error("found no error for a line that is no JSON")
	}
}

func TestWhatValidateIsAskedFor(t *testing.T) {
	for _, x := range []struct {
		options validateOptions
		says    string
	}{
		{validateOptions{5, 0.05, 2 * time.Minute}, ""},
		{validateOptions{5, 0.05, 0}, ""},
		{validateOptions{0, 0.05, 10 * time.Second}, ""},
		{validateOptions{-1, 0.05, 0}, "--repetitions"},
		{validateOptions{101, 0.05, 0}, "--repetitions"},
		{validateOptions{5, 0, 0}, "--within"},
		{validateOptions{5, 1, 0}, "--within"},
		{validateOptions{5, 0.05, time.Second}, "--steady"},
		{validateOptions{5, 0.05, time.Hour}, "--steady"},
		{validateOptions{0, 0.05, 0}, "nothing to compare"},
	} {
		if err := x.options.check(); fmt.Sprint(err) != "<nil>" && x.says == "" || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%+v: found %v, want %q", x.options, err, x.says)
		}
	}
}
