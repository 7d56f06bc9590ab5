package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/replay"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/sim/trace"
)

var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

const text = `version: 1
fleets:
  # the thumbnails of the shop
  - name: thumbs
    queue: thumbs
    objective: {latency: 1m, quantile: 0.95}
    max: 40 # of this machine
    price: 0.5
    policy: deadline
    workers: {command: [convert], boot: 10s}
  - name: other
    queue: other
    max: 3
    workers: {command: [convert]}
`

func parsed(t testing.TB) *config.Config {
	t.Helper()
	c, err := kinds.Parse("muster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// past is a history of thumbs: for so long, messages arrive at a rate that swings with the hour, and finish.
func past(t testing.TB, length time.Duration, perMinute float64, took time.Duration) *history.Memory {
	t.Helper()
	h := history.NewMemory()
	at, err := h.Begin(t.Context(), "thumbs")
	if err != nil {
		t.Fatal(err)
	}
	var records []muster.Record
	for since := time.Duration(0); since < length; since += time.Minute {
		n := math.Round(perMinute * (1 + 0.8*math.Sin(2*math.Pi*since.Hours())))
		var durations series.Durations
		for range int(n) {
			durations = series.Add(durations, took)
		}
		body, err := json.Marshal(learning.Learned{Arrived: n, Since: monday.Add(since), Counted: true,
			Processing: durations})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, muster.Record{At: monday.Add(since + time.Minute), Kind: muster.Learned, Body: body})
	}
	if _, err := h.Append(t.Context(), "thumbs", at, records...); err != nil {
		t.Fatal(err)
	}
	return h
}

// hours asks for the first hours.
func hours(n int) replay.Request {
	return replay.Request{Fleet: "thumbs", From: monday, To: monday.Add(time.Duration(n) * time.Hour)}
}

func TestAChangeIsReplayedBesideThePresent(t *testing.T) {
	h := past(t, time.Hour, 30, 4*time.Second)
	r := hours(1)
	r.Set, r.Others, r.Bound = []string{"max=1"}, []string{"keda"}, true
	found, err := replay.Make(t.Context(), h, parsed(t), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Runs) != 4 || found.Runs[0].Kind != "recorded" || found.Runs[1].Kind != "present" ||
		found.Runs[2].Kind != "changed" || found.Runs[3].Kind != "other" || found.Runs[3].Name != "keda" {
		t.Fatalf("found %s", encoded(t, found.Runs))
	}
	present, changed := found.Runs[1], found.Runs[2]
	if *present.InTime < 0.95 || *changed.InTime > 0.5 || *changed.PeakWorkers != 1 || *present.WorkerHours <=
		*changed.WorkerHours {
		t.Errorf("the present comes to %s, one worker to %s", encoded(t, present), encoded(t, changed))
	}
	if found.Bound == nil || found.Bound.WorkerHours <= 0 || found.Bound.WorkerHours > *present.WorkerHours ||
		*found.Bound.Cost != found.Bound.WorkerHours/2 {
		t.Errorf("the bound is %+v, the present %v", found.Bound, *present.WorkerHours)
	}
	if present.Cost == nil || math.Abs(*present.Cost-*present.WorkerHours/2) > 1e-9 {
		t.Errorf("the cost is %v", present.Cost)
	}
	c := present.Curves
	if n := len(c.Desired); n < 200 || n > 300 || len(c.Backlog) != n || len(c.OldestAge) != n ||
		c.StepSeconds*float64(n) < 0.95*3600 {
		t.Errorf("found curves of %d values, %v s each", n, c.StepSeconds)
	}
	r.Bound = false // it takes seconds
	again, err := replay.Make(t.Context(), h, parsed(t), r, nil)
	again.Bound = found.Bound
	if one, two := encoded(t, found), encoded(t, again); err != nil || !bytes.Equal(one, two) {
		t.Errorf("the same request has another answer: %v", err)
	}
	// A page asks for the fleet itself first, and for the rest then: together they are the same.
	r.OthersOnly = true
	rest, err := replay.Make(t.Context(), h, parsed(t), r, nil)
	if one, two := encoded(t, found.Runs[3:]), encoded(t, rest.Runs); err != nil || !bytes.Equal(one, two) {
		t.Errorf("the others alone come to something else: %v", err)
	}
	r.OthersOnly, r.Others = false, nil
	own, err := replay.Make(t.Context(), h, parsed(t), r, nil)
	if one, two := encoded(t, found.Runs[:3]), encoded(t, own.Runs); err != nil || !bytes.Equal(one, two) {
		t.Errorf("the fleet alone comes to something else: %v", err)
	}
	var out bytes.Buffer
	if err := replay.Print(&out, found); err != nil || !strings.Contains(out.String(), "(lower bound)") ||
		!strings.Contains(out.String(), "max: 1") {
		t.Errorf("found %v:\n%s", err, out.String())
	}
	t.Log(out.String())
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAChangeIsOneOfTheText(t *testing.T) {
	for _, test := range []struct {
		policy string
		set    []string
		says   []string
	}{
		{"exact", nil, []string{"policy: exact"}},
		{"", []string{"max=7", "min=2"}, []string{"max: 7", "min: 2"}},
		{"", []string{"policy.scale=0.5"}, []string{"name: deadline", "scale: 0.5"}},
		{"", []string{"policy={name: worker-utilization, target: 0.7}"}, []string{"target: 0.7"}},
		{"", []string{"objective.latency=2m", "scale_in.stabilization=5m"}, []string{"latency: 2m",
			"stabilization: 5m"}},
	} {
		_, yaml, err := replay.Changed(parsed(t), "thumbs", test.policy, test.set)
		if err != nil {
			t.Errorf("%q %v: %v", test.policy, test.set, err)
		}
		for _, text := range test.says {
			if !strings.Contains(yaml, text) {
				t.Errorf("%q %v: the text lacks %q:\n%s", test.policy, test.set, text, yaml)
			}
		}
		if strings.Contains(yaml, "other") || !strings.Contains(yaml, "name: thumbs") {
			t.Errorf("%q %v: the text is\n%s", test.policy, test.set, yaml)
		}
		if _, err := kinds.Parse("copied", []byte("version: 1\n"+yaml)); err != nil {
			t.Errorf("%q %v: the text to copy is refused: %v", test.policy, test.set, err)
		}
	}
}

func TestWhatCannotBeReplayed(t *testing.T) {
	h, c := past(t, time.Hour, 30, 4*time.Second), parsed(t)
	for name, test := range map[string]struct {
		change func(*replay.Request)
		says   string
		misuse bool
	}{
		"no fleet":          {func(r *replay.Request) { r.Fleet = "z" }, `there is no fleet "z"`, true},
		"no name":           {func(r *replay.Request) { r.Fleet = "" }, "name a fleet", true},
		"no policy":         {func(r *replay.Request) { r.Policy = "zz" }, "zz", true},
		"no key":            {func(r *replay.Request) { r.Set = []string{"maxx=1"} }, "maxx", true},
		"no value":          {func(r *replay.Request) { r.Set = []string{"max"} }, "KEY=VALUE", true},
		"a wrong value":     {func(r *replay.Request) { r.Set = []string{"max=-1"} }, "max", true},
		"a key of a number": {func(r *replay.Request) { r.Set = []string{"max.x=1"} }, "no mapping", true},
		"another name":      {func(r *replay.Request) { r.Set = []string{"name=new"} }, "name of a fleet", true},
		"no window":         {func(r *replay.Request) { r.To = r.From }, "window", true},
		"a year":            {func(r *replay.Request) { r.From = r.To.Add(-8760 * time.Hour) }, "window", true},
		"too many others":   {func(r *replay.Request) { r.Others = make([]string, 5) }, "at most 4", true},
		"no other":          {func(r *replay.Request) { r.Others = []string{"zz"} }, "zz", true},
		"a time without any": {func(r *replay.Request) { r.From, r.To = monday.Add(-5*time.Hour), monday },
			"0 recorded messages", false},
	} {
		r := hours(1)
		test.change(&r)
		_, err := replay.Make(t.Context(), h, c, r, nil)
		if err == nil || !strings.Contains(err.Error(), test.says) || misuse.Is(err) != test.misuse {
			t.Errorf("%s: found %v, misuse %t", name, err, misuse.Is(err))
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := replay.Make(ctx, h, c, hours(1), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// slow is a history whose reading waits until it is released.
type slow struct {
	*history.Memory
	reads, released chan struct{}
}

func (s slow) Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error {
	s.reads <- struct{}{}
	select {
	case <-s.released:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Memory.Read(ctx, fleet, since, yield)
}

func TestOneReplayRunsAtATimeAndEndsWithItsClient(t *testing.T) {
	h := slow{past(t, time.Hour, 30, 4*time.Second), make(chan struct{}, 1), make(chan struct{})}
	serve := replay.RoutesOf(func() *config.Config { return parsed(t) }, h)[0].Serve
	ask := func(ctx context.Context, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		serve(answer, httptest.NewRequestWithContext(ctx, "POST", "/v1/whatif", strings.NewReader(body)))
		return answer
	}
	body := string(encoded(t, hours(1)))
	ctx, stop := context.WithCancel(t.Context())
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- ask(ctx, body) }()
	<-h.reads
	if a := ask(t.Context(), body); a.Code != http.StatusConflict {
		t.Errorf("a second replay: found %d %s", a.Code, a.Body)
	}
	stop()
	if a := <-first; a.Code == http.StatusOK {
		t.Errorf("a replay without its client: found %d", a.Code)
	}
	close(h.released)
	if a := ask(t.Context(), body); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), `"kind":"present"`) {
		t.Errorf("a third replay: found %d %.300s", a.Code, a.Body)
	}
	<-h.reads
	for body, code := range map[string]int{"{": 400, `{"what":1}`: 400, `{"fleet":"z"}`: 400} {
		if a := ask(t.Context(), body); a.Code != code {
			t.Errorf("%s: found %d %s", body, a.Code, a.Body)
		}
	}
}

// TestAMessageCostsMicroseconds holds that the time of a replay grows with its messages and no faster: so a million
// take seconds. On two cores that nothing else uses a message takes 5 µs. The test counts processor time, because it
// shares the machine, and allows for neighbours that fill the caches.
func TestAMessageCostsMicroseconds(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of thousands of messages take seconds")
	}
	h := past(t, 3*time.Hour, 690, 400*time.Millisecond)
	r := hours(3)
	r.Set = []string{"max=20"}
	before, began := processorTime(t), time.Now()
	found, err := replay.Make(t.Context(), h, parsed(t), r, nil)
	used, took := processorTime(t)-before, time.Since(began)
	if err != nil || found.Messages < 120_000 {
		t.Fatalf("found %d messages, %v", found.Messages, err)
	}
	each := used / time.Duration(int64(len(found.Runs))*found.Messages)
	t.Logf("%d messages in %s, %s of processor time for each in a run", found.Messages, took, each)
	if each > 100*time.Microsecond {
		t.Errorf("a message takes %s of a run, at most 100 µs are allowed", each)
	}
}

// processorTime is the processor time that the test has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// What was recorded can be taken elsewhere: the exported trace has the messages of the replay.
func TestRecordedMessagesAreExportedAsATrace(t *testing.T) {
	h := past(t, time.Hour, 30, 4*time.Second)
	path := filepath.Join(t.TempDir(), "thumbs.csv.gz")
	n, notes, err := replay.Export(t.Context(), h, parsed(t), hours(1), path)
	if err != nil || n < 1500 || len(notes) == 0 {
		t.Fatalf("found %d messages, the notes %q and %v", n, notes, err)
	}
	load, err := trace.Open(path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read, total := int64(0), time.Duration(0)
	if err := load.Each(func(m trace.Message) bool { read++; total += m.Service; return true }); err != nil {
		t.Fatal(err)
	}
	if mean := total / time.Duration(read); read != n || mean < 3900*time.Millisecond || mean > 4100*time.Millisecond {
		t.Errorf("found %d messages of %s in the file, want %d of 4s", read, mean, n)
	}
	if _, _, err := replay.Export(t.Context(), h, parsed(t), replay.Request{Fleet: "thumbs", From: monday.Add(-2 *
		time.Hour), To: monday}, path+"2"); err == nil {
		t.Error("a window without any message was exported")
	}
	if _, err := os.Stat(path + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("found %v for the file of an export that failed", err)
	}
}
