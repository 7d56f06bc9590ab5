package validate

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app/demo"
)

func TestTheSteadyRunIsJudged(t *testing.T) {
	good := Steady{
		Real: SteadyResult{Messages: 100, Processed: 100, InTimeRatio: 1, PeakWorkers: 8, Launches: 8,
			WorkerSeconds: 900},
		Simulated: SteadyResult{Messages: 100, Processed: 100, InTimeRatio: 1, PeakWorkers: 7, Launches: 9,
			WorkerSeconds: 850},
		NeededWorkers: 6.2,
	}
	for _, x := range []struct {
		name   string
		change func(*Steady)
		says   string
	}{
		{"alike", func(*Steady) {}, ""},
		{"more workers than simulated", func(x *Steady) { x.Real.PeakWorkers = 12 },
			"peak workers, real 12, simulated 7: found -5"},
		{"more launches than simulated", func(x *Steady) { x.Simulated.Launches = 30 },
			"launches, real 8, simulated 30: found +22"},
		{"cheaper than simulated", func(x *Steady) { x.Real.WorkerSeconds = 400 },
			"worker-seconds, real 400.0 s, simulated 850.0 s: found +112.5 %"},
		{"later than simulated", func(x *Steady) { x.Real.InTimeRatio = 0.9 }, "in time, real 90.00 %"},
		{"a storm in both", func(x *Steady) { x.Real.PeakWorkers, x.Simulated.PeakWorkers = 42, 42 },
			"peak beside the load, real 42"},
		{"worked on twice", func(x *Steady) { x.Real.Twice = 3 }, "3 messages processed more than once"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := good
			x.change(&c)
			err := c.Disagreement()
			if x.says == "" && err != nil || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
				t.Errorf("found %v, want one that says %q", err, x.says)
			}
			var page bytes.Buffer
			if err := c.Print(&page); err != nil || strings.Count(page.String(), "\n") != 8 {
				t.Errorf("found %q, %v, want a headline and a table of five figures", page.String(), err)
			}
		})
	}
}

// Workers of a steady run wait for messages now and then. That is not part of the way to the next one.
func TestTheWayToTheNextMessageLeavesOutWaitingForIt(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	message := func(sent, began, done int) demo.Finish {
		return demo.Finish{Sent: at(sent), Began: at(began), Done: at(done)}
	}
	for _, x := range []struct {
		name    string
		workers map[string][]demo.Finish
		want    time.Duration
	}{
		{"no worker", nil, 0},
		{"one message", map[string][]demo.Finish{"a": {message(0, 10, 30)}}, 0},
		{"the next comes later", map[string][]demo.Finish{"a": {message(0, 10, 30), message(50, 52, 72)}}, 0},
		{"the next comes just before", map[string][]demo.Finish{"a": {message(0, 10, 30), message(20, 33, 53)}}, 0},
		{"the median of two workers, in any order", map[string][]demo.Finish{
			"a": {message(0, 534, 554), message(0, 510, 530)}, "b": {message(0, 500, 520), message(0, 523, 543),
				message(0, 552, 572)}}, 4 * time.Millisecond},
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
	x, err := simulateSteady(r, c, steadyMessages(length))
	if err != nil {
		t.Fatal(err)
	}
	both := Steady{Real: x, Simulated: x, NeededWorkers: 6.25}
	if err := both.Disagreement(); err != nil || x.Processed != x.Messages || x.InTimeRatio != 1 || x.PeakWorkers < 6 {
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
	if err := SleepLines(strings.NewReader(in), &out, &log, 7); err != nil {
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
	if fields := strings.Fields(log.String()); len(fields) != 6 || !slices.Equal(fields[:3],
		[]string{"jobs", "a", "2026-01-02T03:04:05.678Z"}) || fields[4] != "7" {
		t.Errorf("found %q, want one line with six words", log.String())
	}
	if err := SleepLines(strings.NewReader("text\n"), io.Discard, nil, 7); err == nil {
		t.Error("found no error for a line that is no JSON")
	}
}
