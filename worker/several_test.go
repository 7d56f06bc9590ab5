package worker_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker"
)

// heap is a queue of bodies that notes how it was asked.
type heap struct {
	name    string
	bodies  []string
	down    bool
	waited  []time.Duration
	deleted []string
}

func (h *heap) Receive(_ context.Context, limit int, wait, _ time.Duration) ([]worker.Message, error) {
	h.waited = append(h.waited, wait)
	if h.down {
		return nil, errors.New(h.name + " is away")
	}
	n := min(limit, len(h.bodies))
	var got []worker.Message
	for _, body := range h.bodies[:n] {
		got = append(got, worker.Message{ID: body, Body: body, Queue: h.name})
	}
	h.bodies = h.bodies[n:]
	return got, nil
}

func (h *heap) Delete(_ context.Context, m worker.Message) error {
	h.deleted = append(h.deleted, m.ID)
	return nil
}

func (h *heap) ChangeVisibility(context.Context, worker.Message, time.Duration) error { return nil }

func TestSeveralQueuesAreServedInTurnAndNoneWaitsForAnother(t *testing.T) {
	a, b := &heap{name: "a", bodies: []string{"a1", "a2"}}, &heap{name: "b", bodies: []string{"b1", "b2"}}
	q := worker.Several(a, b)
	var order []string
	for range 4 {
		got, err := q.Receive(t.Context(), 1, 20*time.Second, time.Minute)
		if err != nil || len(got) != 1 {
			t.Fatalf("received %v, %v", got, err)
		}
		order = append(order, got[0].Body)
		if err := q.Delete(t.Context(), got[0]); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a1", "b1", "a2", "b2"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if slices.ContainsFunc(append(a.waited, b.waited...), func(d time.Duration) bool { return d > 0 }) {
		t.Error("it waited at a queue while another had messages")
	}
	if !slices.Equal(a.deleted, []string{"a1", "a2"}) || !slices.Equal(b.deleted, []string{"b1", "b2"}) {
		t.Errorf("deleted %v at a and %v at b", a.deleted, b.deleted)
	}
	if got, err := q.Receive(t.Context(), 1, 20*time.Second, time.Minute); err != nil || len(got) > 0 ||
		a.waited[len(a.waited)-1] != time.Second {
		t.Errorf("empty queues: received %v, %v; waited %v", got, err, a.waited)
	}
}

func TestAQueueThatIsAwayDoesNotHideTheOthers(t *testing.T) {
	a, b := &heap{name: "a", down: true}, &heap{name: "b", bodies: []string{"b1"}}
	q := worker.Several(a, b)
	if got, err := q.Receive(t.Context(), 1, time.Second, time.Minute); err != nil || len(got) != 1 {
		t.Errorf("received %v, %v; want the message of b", got, err)
	}
	if got, err := q.Receive(t.Context(), 1, time.Second, time.Minute); err != nil || len(got) > 0 {
		t.Errorf("received %v, %v; a pause would keep b from being served", got, err)
	}
	b.down = true
	if got, err := q.Receive(t.Context(), 1, time.Second, time.Minute); err == nil {
		t.Errorf("received %v without a word that all queues are away", got)
	}
}
