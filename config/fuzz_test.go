package config_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/policy"
)

// FuzzParse holds that Parse returns for any text either faults, each within the text, or a configuration that keeps
// every promise of its documentation.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/faults/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(config.Example()))
	f.Add([]byte(pasted))
	f.Add([]byte("! d\n\n    a")) // a value of several lines that is no text
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := config.Parse("fuzz.yaml", text, lookup, all)
		if err == nil {
			keepsPromises(t, c)
			if remarks := c.Remarks(); len(remarks) > 0 {
				pointInto(t, string(text), remarks)
			}
			return
		}
		faults, ok := errors.AsType[config.Faults](err)
		if !ok || len(faults) == 0 || c != nil {
			t.Fatalf("found error %v of type %T and configuration %v, want faults alone", err, err, c)
		}
		pointInto(t, string(text), faults)
	})
}

// pointInto checks that faults are sorted and lie within the text.
func pointInto(t *testing.T, text string, faults config.Faults) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i, f := range faults {
		if f.Line < 1 || f.Line > len(lines) {
			t.Fatalf("line %d of %d: %s", f.Line, len(lines), f)
		}
		if most := utf8.RuneCountInString(lines[f.Line-1]) + 1; f.Column < 1 || f.Column > most {
			t.Fatalf("column %d of %d: %s", f.Column, most, f)
		}
		if i > 0 && (faults[i-1].Line > f.Line || faults[i-1].Line == f.Line && faults[i-1].Column > f.Column) {
			t.Fatalf("not sorted: %s before %s", faults[i-1], f)
		}
		if f.Message == "" {
			t.Fatal("a fault without a message")
		}
	}
	rendered := strings.Count(faults.Error(), "\n") + 1
	if want := 3*min(len(faults), 50) + min(1, max(0, len(faults)-50)); rendered != want {
		t.Fatalf("%d faults were rendered on %d lines, want %d:\n%v", len(faults), rendered, want, faults)
	}
}

func keepsPromises(t *testing.T, c *config.Config) {
	t.Helper()
	promise := func(kept bool, what string) {
		if !kept {
			t.Errorf("broken: %s in %+v", what, c)
		}
	}
	between := func(d, least, most time.Duration) bool { return d >= least && d <= most }
	for _, address := range []string{c.Listen.Queue, c.Listen.API} {
		host, _, err := net.SplitHostPort(address)
		promise(err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback()), "listens on loopback alone")
	}
	promise(c.Data != "", "data")
	names := map[string]bool{}
	for _, q := range c.Queues {
		promise(q.Name != "" && !names[q.Name], "queue names are unique")
		names[q.Name] = true
		promise(between(q.Visibility, 0, 12*time.Hour) && between(q.Delay, 0, 15*time.Minute) &&
			between(q.Retention, time.Minute, 14*24*time.Hour), "durations of a queue")
		promise((q.DeadLetter.Queue == "") == (q.DeadLetter.After == 0) && q.DeadLetter.Queue != q.Name, "dead letters")
	}
	names, queues := map[string]bool{}, map[string]bool{}
	for _, e := range c.Events {
		where := e.Queue.URL + "|" + e.Queue.Name
		promise(e.Queue.URL != "" && e.Queue.Name != "" && !queues[where], "queues of events are apart")
		queues[where] = true
	}
	for _, f := range c.Fleets {
		promise(f.Name != "" && !names[f.Name], "fleet names are unique")
		names[f.Name] = true
		for _, q := range f.Queues {
			where := q.URL + "|" + q.Name
			promise(!queues[where], "one fleet for each queue")
			queues[where] = true
			promise(q.Name != "", "a queue has a name")
		}
		kinds := []config.Workers{f.Workers}
		for i, p := range f.Split {
			kinds = append(kinds[min(i, 1):], p.Workers)
			promise(p.Name != "" && p.Base+p.Weight > 0 && p.Base >= 0 && p.Weight >= 0, "parts")
		}
		promise(0 <= f.Limits.Min && f.Limits.Min <= f.Limits.Max && f.Limits.Max <= 10_000 &&
			f.Limits.LaunchesPerHour >= 1, "limits")
		promise(f.Objective.Latency > 0 && f.Objective.Quantile > 0 && f.Objective.Quantile <= 1, "objective")
		promise(f.Objective.Late >= 0 && f.Objective.Late <= 14*24*time.Hour, "price of a late message")
		promise(between(f.Poll, 100*time.Millisecond, time.Hour), "poll")
		_, err := policy.New(f.Policy)
		promise(err == nil, "the policy can be built")
		if a, ok := f.Members.(*asg.Config); ok {
			promise(a.Group != "" && len(f.Split) == 0 && len(f.Workers.Command) == 0 && f.Workers.Slots >= 1,
				"a group in place of processes")
			kinds = nil
		}
		if e, ok := f.Members.(*ecs.Config); ok {
			promise(e.Cluster != "" && (e.Service == "") != (e.TaskDefinition == "") && len(f.Split) == 0 &&
				len(f.Workers.Command) == 0 && f.Workers.Slots >= 1, "a service or tasks in place of processes")
			kinds = nil
		}
		promise((f.Sizer == nil) == (f.Policy.Delegate == nil), "delegate")
		for _, w := range kinds {
			promise((len(w.Command) > 0 && w.Command[0] != "") != (w.HTTP != ""), "what does the work")
			promise(w.Slots >= 1 && w.Batch >= 1 && w.Batch <= 10 && w.AtOnce() <= 1000, "messages at once")
			promise((w.MaxAttempts > 0) == (w.DeadLetter.Name != ""), "dead letters")
			promise(between(w.Visibility, 2*time.Second, 12*time.Hour) && w.Visibility%time.Second == 0,
				"visibility of workers")
			promise(between(w.Boot, 0, 24*time.Hour) && between(w.Idle, 0, 24*time.Hour) &&
				between(w.Grace, 0, 24*time.Hour) && between(w.WarmUp, 0, time.Hour) &&
				between(w.TimeLimit, 0, 12*time.Hour), "durations of workers")
		}
	}
}
