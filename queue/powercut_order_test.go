package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// deed is one call about one message, from asking to the answer.
type deed struct {
	kind         string // send, receive, remove, change
	began, ended time.Time
	count        int // of the receive whose receipt was used, or made
	lease        time.Duration
	err          error
}

// deeds are the calls of many clients, by message.
type deeds struct {
	mu sync.Mutex
	of map[int][]deed
}

func (d *deeds) note(n int, e deed) {
	e.ended = time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[n] = append(d.of[n], e)
}

// TestEachMessageIsHandedOutToOneAtATime lets clients that hold messages for a
// few milliseconds work at the same time, and then judges what happened to
// each message. Only what must have come before or after counts: a call that
// ended before another one began.
func TestEachMessageIsHandedOutToOneAtATime(t *testing.T) {
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, redelivered := 0, 0
	for seed := range uint64(4) {
		s, err := openSite(t.Context(), base.Cut(0), 30)
		if err != nil {
			t.Fatal(err)
		}
		h := handOut(t.Context(), s, seed)
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		for n, history := range h.of {
			all += len(history)
			if err := judge(history); err != nil {
				t.Errorf("seed %d, message %d: %v\n%v", seed, n, err, history)
			}
			for _, e := range history {
				if e.kind == "receive" && e.count > 1 {
					redelivered++
				}
			}
		}
	}
	if redelivered == 0 {
		t.Error("no message was delivered twice: nothing was tested")
	}
	t.Logf("%d calls, %d of them redeliveries", all, redelivered)
}

// handOut runs six clients on the queue "side", which has no dead-letter queue.
func handOut(ctx context.Context, s *site, seed uint64) *deeds {
	d := &deeds{of: map[int][]deed{}}
	var wg sync.WaitGroup
	for i := range 6 {
		c := &client{site: s, ctx: ctx, chance: rand.New(rand.NewPCG(seed, uint64(i)))}
		wg.Go(func() {
			for range 120 {
				switch n := c.chance.IntN(10); {
				case n < 3:
					c.sendOne(d)
				case n < 7:
					c.receiveSome(d)
				case n < 9:
					c.settleOne(d, "remove", 0)
				default:
					c.settleOne(d, "change", time.Duration(c.chance.IntN(8))*time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	return d
}

func (c *client) sendOne(d *deeds) {
	n := c.ledger.sending("side", []int{10}, 0)[0]
	e := deed{kind: "send", began: time.Now()}
	_, e.err = c.service.Send(c.ctx, "side", []Outgoing{{Body: c.ledger.body(n)}})
	d.note(n, e)
}

func (c *client) receiveSome(d *deeds) {
	e := deed{kind: "receive", began: time.Now(), lease: time.Duration(1+c.chance.IntN(8)) * time.Millisecond}
	got, err := c.service.Receive(c.ctx, "side", ReceiveOptions{Max: 1 + c.chance.IntN(3), Visibility: &e.lease})
	if err != nil {
		d.note(-1, deed{kind: "receive", err: err})
	}
	for _, m := range got {
		n, err := number(m.Body)
		e.count, e.err = m.ReceiveCount, err
		d.note(n, e)
		c.held = append(c.held, holding{"side", m.Receipt, n, uint32(m.ReceiveCount)})
	}
}

func (c *client) settleOne(d *deeds, kind string, lease time.Duration) {
	for _, h := range c.pick(1) {
		e := deed{kind: kind, began: time.Now(), count: int(h.count), lease: lease}
		if kind == "remove" {
			e.err = c.service.Delete(c.ctx, "side", []string{h.receipt})[0]
		} else {
			e.err = c.service.ChangeVisibility(c.ctx, "side", []VisibilityChange{{h.receipt, lease}})[0]
			c.held = append(c.held, h)
		}
		d.note(h.number, e)
	}
}

// judge says what cannot have happened to one message.
func judge(history []deed) error {
	slices.SortFunc(history, func(a, b deed) int { return a.began.Compare(b.began) })
	receives := map[int]deed{}
	sent := history[0]
	for _, e := range history {
		switch {
		case e.kind == "send":
			sent = e
		case e.err != nil && (e.kind != "change" || !errors.Is(e.err, ErrMessageNotInFlight) && !errors.Is(e.err, ErrInvalidParameter)):
			return fmt.Errorf("%s is answered %w", e.kind, e.err)
		case e.kind == "receive" && receives[e.count].count != 0:
			return fmt.Errorf("receive %d happened twice", e.count)
		case e.kind == "receive":
			receives[e.count] = e
		}
	}
	removed := slices.ContainsFunc(history, func(e deed) bool { return e.kind == "remove" })
	newest := 0
	for _, count := range slices.Sorted(maps.Keys(receives)) {
		r, before := receives[count], receives[newest]
		// An answer may come so late that the message has been received again
		// and deleted; then its content is gone, and nobody hears of the receive.
		if count != newest+1 && !removed {
			return fmt.Errorf("receive %d is missing", newest+1)
		}
		if r.ended.Before(sent.began) || r.ended.Before(before.began) {
			return fmt.Errorf("receive %d came too early", count)
		}
		if err := judgeLease(history, r, receives[count+1]); err != nil {
			return err
		}
		newest = count
	}
	return judgeRemovals(history, newest)
}

// judgeLease holds r's lease against the next receive, if there is one.
func judgeLease(history []deed, r, next deed) error {
	if next.count == 0 {
		return nil
	}
	// The earliest end of the lease: the shortest of what r's holder asked for
	// since, where it is not certain that a longer one came last.
	end := r.began.Add(r.lease)
	for _, e := range history {
		if e.kind == "change" && e.count == r.count {
			end = slices.MinFunc([]time.Time{end, e.began.Add(e.lease)}, time.Time.Compare)
		}
	}
	// The service counts in whole milliseconds.
	if next.ended.Before(end.Add(-time.Millisecond)) {
		return fmt.Errorf("receive %d ended %v before the lease of receive %d", next.count, end.Sub(next.ended), r.count)
	}
	return nil
}

// judgeRemovals finds receives after a delete with the newest receipt, and
// deletes that cannot have deleted but were the last.
func judgeRemovals(history []deed, newest int) error {
	removed := slices.IndexFunc(history, func(e deed) bool { return e.kind == "remove" && e.count == newest })
	for _, e := range history {
		if removed < 0 || e.kind != "receive" && e.kind != "change" || e.err != nil {
			continue
		}
		if e.began.After(history[removed].ended) {
			return fmt.Errorf("%s %d succeeded after the message was deleted", e.kind, cmp.Or(e.count, newest))
		}
	}
	for _, gone := range history {
		if gone.kind != "remove" {
			continue
		}
		// The receipt was the newest when the delete was answered.
		if newer := slices.IndexFunc(history, func(e deed) bool { return e.kind == "receive" && e.count > gone.count }); newer >= 0 && history[newer].began.After(gone.ended) {
			return fmt.Errorf("receive %d came after the delete with the receipt of receive %d", history[newer].count, gone.count)
		}
	}
	return nil
}

// TestTheJudgeFindsWhatMustNotHappen plants one violation in each row.
func TestTheJudgeFindsWhatMustNotHappen(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }
	call := func(kind string, from, to, count, lease int) deed {
		return deed{kind: kind, began: at(from), ended: at(to), count: count, lease: time.Duration(lease) * time.Millisecond}
	}
	send := call("send", 0, 1, 0, 0)
	for _, row := range []struct {
		name    string
		history []deed
		fine    bool
	}{
		{"received and deleted", []deed{send, call("receive", 2, 3, 1, 10), call("remove", 4, 5, 1, 0)}, true},
		{"received again after the lease", []deed{send, call("receive", 2, 3, 1, 10), call("receive", 13, 14, 2, 10)}, true},
		{"received again during the lease", []deed{send, call("receive", 2, 3, 1, 10), call("receive", 5, 6, 2, 10)}, false},
		{"handed back and received again", []deed{send, call("receive", 2, 3, 1, 10), call("change", 4, 5, 1, 0), call("receive", 5, 6, 2, 10)}, true},
		{"received after the delete", []deed{send, call("receive", 2, 3, 1, 1), call("remove", 4, 5, 1, 0), call("receive", 9, 10, 2, 1)}, false},
		{"received while being deleted late", []deed{send, call("receive", 2, 3, 1, 1), call("receive", 8, 9, 2, 1), call("remove", 7, 10, 1, 0)}, true},
		{"one receive handed out twice", []deed{send, call("receive", 2, 3, 1, 1), call("receive", 9, 10, 1, 1)}, false},
		{"a receive that nobody heard of", []deed{send, call("receive", 9, 10, 2, 1)}, false},
		{"a receive that nobody heard of before the delete", []deed{send, call("receive", 9, 10, 2, 1), call("remove", 11, 12, 2, 0)}, true},
		{"received before it was sent", []deed{call("receive", 0, 1, 1, 1), call("send", 2, 3, 0, 0)}, false},
		{"changed after the delete", []deed{send, call("receive", 2, 3, 1, 9), call("remove", 4, 5, 1, 0), call("change", 6, 7, 1, 5)}, false},
	} {
		if err := judge(row.history); (err == nil) != row.fine {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}
