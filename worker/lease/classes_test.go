package lease

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// TestClassesAreBoundedAndAddUpToAll finishes messages of many classes, loses answers, and adds up what arrived.
func TestClassesAreBoundedAndAddUpToAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		l := New(Options{Slots: 1})
		l.Ready(now)
		done, arrived := 0, int64(0)
		var classes map[string]series.Durations
		deliver := func() {
			r := l.Report(now)
			if len(r.Classes) > protocol.MaxClasses+1 {
				t.Fatalf("a report has %d classes", len(r.Classes))
			}
			if rapid.Bool().Draw(t, "answered") {
				for _, x := range append(slices.Clip(r.Unanswered),
					protocol.Tally{Processing: r.Processing, Classes: r.Classes}) {
					arrived += x.Processing.Count
					classes = plusClasses(classes, x.Classes)
				}
				l.Obey(now, r, protocol.Directive{Ask: protocol.Work})
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "messages") {
			asked := l.BeginReceive(1)
			l.EndReceive(now, asked, 1)
			l.End(now, End{Received: now, Took: time.Second, OK: true,
				Class: fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "class"))})
			done++
			if rapid.Bool().Draw(t, "report") {
				deliver()
			}
		}
		for arrived < int64(done) {
			deliver()
		}
		var sum int64
		for _, d := range classes {
			sum += d.Count
		}
		if arrived != int64(done) || sum != int64(done) || len(classes) > protocol.MaxClasses+1 {
			t.Errorf("of %d messages %d arrived, %d in %d classes", done, arrived, sum, len(classes))
		}
	})
}

func TestCopiesOfALeaseShareNoClasses(t *testing.T) {
	now := time.Unix(0, 0)
	finish := func(l *Lease, class string) {
		asked := l.BeginReceive(1)
		l.EndReceive(now, asked, 1)
		l.End(now, End{Received: now, Took: time.Second, OK: true, Class: class})
	}
	l := New(Options{Slots: 1})
	l.Ready(now)
	finish(&l, "a")
	other := l
	finish(&other, "b")
	one := map[string]series.Durations{"a": series.Add(series.Durations{}, time.Second)}
	if d := cmp.Diff(one, l.Report(now).Classes); d != "" {
		t.Error(d)
	}
	if got := other.Report(now).Classes; len(got) != 2 {
		t.Errorf("the copy reports %v", got)
	}
}
