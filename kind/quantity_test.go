package kind_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/kind"
)

// base is a source that keeps what it returns.
type base struct {
	q   muster.QueueObservation
	err error
}

func (b *base) Observe(context.Context) (muster.QueueObservation, error) { return b.q, b.err }

func TestAMeasureReplacesOneQuantityAndNothingThatTheBaseKeeps(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	b := &base{q: muster.QueueObservation{
		Queue: "q", Backlog: muster.Measured(at, 3), InFlight: muster.Measured(at, 1),
		Published: &muster.Published{ProcessingMean: muster.Measured(at, 20)},
	}}
	q := kind.ObserveBase(t.Context(), b, "f", "no metric was named for it", time.Now)
	kind.Backlog.Put(&q, muster.Measured(at, 8))
	kind.Processing.Put(&q, muster.Measured(at, 25))
	if q.Queue != "q" || q.Backlog.Value != 8 || q.InFlight.Value != 1 || q.Published.ProcessingMean.Value != 25 {
		t.Errorf("found %+v", q)
	}
	if kept := b.q; kept.Backlog.Value != 3 || kept.Published.ProcessingMean.Value != 20 {
		t.Errorf("the base keeps %+v, which a measure changed", kept)
	}
}

func TestWithoutABaseQuantitiesAreUnknownForAReason(t *testing.T) {
	for _, row := range []struct {
		base muster.Source
		want string
	}{
		{nil, "no metric was named for it"},
		{&base{q: muster.QueueObservation{Queue: "q"}, err: errors.New("no such queue")}, "no such queue"},
	} {
		q := kind.ObserveBase(t.Context(), row.base, "f", "no metric was named for it", time.Now)
		for _, s := range []muster.Sample{q.Backlog, q.InFlight, q.Delayed, q.OldestAge} {
			if s.Known || s.Reason != row.want {
				t.Errorf("found %+v, want unknown because %q", s, row.want)
			}
		}
		if q.Queue != "f" {
			t.Errorf("found the queue %q, want f", q.Queue)
		}
	}
}

func TestQuantitiesAreNamedInOneOrder(t *testing.T) {
	got := kind.Quantities(map[kind.Quantity]string{kind.Processing: "", kind.Backlog: "", kind.Delayed: ""})
	if want := []string{"backlog", "delayed", "processing"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
