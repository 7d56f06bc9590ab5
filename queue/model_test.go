package queue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// naive is the queue as one would describe it: a list of messages that is
// searched from the front every time.
type naive struct {
	queues map[string][]*naiveMessage
	sent   map[string]naiveSent // by queue and deduplication id
}

type naiveMessage struct {
	seq                     uint64
	sent, visible, received int64
	first                   int64
	count, carried          uint32
	group                   string
	batch                   int // which receive it was last given out by
}

const (
	modelTimeout   = 30_000
	modelRetention = 600_000
	modelMax       = 2
)

func (n *naive) ready(q string, now int64) []*naiveMessage {
	n.queues[q] = slices.DeleteFunc(n.queues[q], func(m *naiveMessage) bool {
		return m.visible <= now && m.sent+modelRetention <= now
	})
	var out []*naiveMessage
	for _, m := range n.queues[q] {
		if m.visible <= now {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *naiveMessage) int {
		return cmp.Or(cmp.Compare(a.visible, b.visible), cmp.Compare(a.seq, b.seq))
	})
	return out
}

func (n *naive) find(q string, seq uint64) *naiveMessage {
	for _, m := range n.queues[q] {
		if m.seq == seq {
			return m
		}
	}
	return nil
}

// receive mirrors the rules: oldest visible first, over the maximum to "dead".
func (n *naive) receive(q string, now, timeout int64, limit int, seqs func() uint64) []machine.Delivery {
	var out []machine.Delivery
	for _, m := range n.ready(q, now) {
		if len(out) == limit {
			break
		}
		if q == "work" && m.count-m.carried >= modelMax {
			n.queues[q] = slices.DeleteFunc(n.queues[q], func(o *naiveMessage) bool { return o == m })
			moved := *m
			moved.seq, moved.visible, moved.received, moved.carried = seqs(), now, 0, m.count
			n.queues["dead"] = append(n.queues["dead"], &moved)
			continue
		}
		m.count++
		m.received, m.visible = now, now+timeout
		if m.first == 0 {
			m.first = now
		}
		out = append(out, machine.Delivery{Seq: m.seq, Count: m.count, Sent: m.sent, First: m.first})
	}
	return out
}

// world drives the state and the model side by side, committing to both stores.
type world struct {
	t       *rapid.T
	now     int64
	st      *machine.State
	stores  []machine.Store
	model   *naive
	handles []machine.Delivery
	nextSeq uint64
	batch   int
	warm    int // how many visible messages of a queue stay entries
}

// worldQueues are the queues of a world; the second and fourth are the
// dead-letter queues of those before them.
var worldQueues = []string{"work", "dead", "work.fifo", "dead.fifo"}

func newWorld(t *rapid.T, stores ...machine.Store) *world {
	w := &world{t: t, now: 1_800_000_000_000, stores: stores,
		model: &naive{queues: map[string][]*naiveMessage{}, sent: map[string]naiveSent{}}}
	w.warm = rapid.SampledFrom([]int{0, 1, 3, machine.PackAfter}).Draw(t, "warm")
	w.reopen()
	for _, name := range worldQueues {
		attributes := map[string]string{"MessageRetentionPeriod": fmt.Sprint(modelRetention / 1000)}
		if rules.IsFIFO(name) {
			attributes["FifoQueue"] = "true"
		}
		if dead, ok := strings.CutPrefix(name, "work"); ok {
			attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:local:000000000000:dead%s","maxReceiveCount":%d}`, dead, modelMax)
		}
		set, err := rules.ParseSettings(attributes)
		if err != nil {
			t.Fatal(err)
		}
		w.st.Put(&machine.QueueRow{Name: name, Attributes: attributes}, set)
	}
	w.commit()
	return w
}

func (w *world) commit() {
	for _, s := range w.stores {
		if err := s.Commit(w.st.Ops); err != nil {
			w.t.Fatal(err)
		}
	}
	w.st.Committed()
}

// reopen replaces the state by what the first store holds, and checks that
// the other stores hold the same.
func (w *world) reopen() {
	for i, s := range w.stores {
		st, _, err := machine.Load(s, w.now, rules.ParseSettings)
		if err != nil {
			w.t.Fatal(err)
		}
		st.KeepEntries = w.warm
		if i == 0 {
			w.st = st
		} else if diff := gocmp.Diff(dump(w.st), dump(st)); diff != "" {
			w.t.Fatalf("the stores differ:\n%s", diff)
		}
	}
	w.nextSeq = w.st.LastSeq
}

func (w *world) seq() uint64 { w.nextSeq++; return w.nextSeq }

// turns is the visible messages of a standard queue in the order in which they
// would be received.
func turns(b *machine.Backlog) []machine.Entry {
	var cold, out []machine.Entry
	for e := range b.Packed.All {
		cold = append(cold, *e)
	}
	slices.SortFunc(cold, func(a, b machine.Entry) int {
		return cmp.Or(cmp.Compare(a.Visible, b.Visible), cmp.Compare(a.Seq, b.Seq))
	})
	for pos := b.Ready.Head; pos != b.Ready.Tail; pos++ {
		ref := *b.Ready.Slot(pos)
		if ref == 0 {
			continue
		}
		for len(cold) > 0 && machine.Before(&cold[0], b.Slab.At(ref)) {
			out, cold = append(out, cold[0]), cold[1:]
		}
		out = append(out, *b.Slab.At(ref))
	}
	return append(out, cold...)
}

// dump renders everything a state knows of messages, in order.
func dump(st *machine.State) string {
	var b strings.Builder
	for _, name := range worldQueues {
		q := st.Names[name]
		if q == nil {
			continue
		}
		fmt.Fprintf(&b, "%s %v floor %d\n", name, q.Saved.Attributes, q.Saved.Floor)
		var hidden []string
		for _, e := range turns(q.Backlog) {
			fmt.Fprintf(&b, "  %d %+v %+v\n", e.Place, e.Numbers, q.Label(&e))
		}
		for e := range q.All {
			if e.Place != machine.Visible || q.Fifo {
				hidden = append(hidden, fmt.Sprintf("  %d %+v %+v\n", e.Place, e.Numbers, q.Label(e)))
			}
		}
		for key, s := range q.Sends.All {
			hidden = append(hidden, fmt.Sprintf("  sent %s %+v\n", key, s))
		}
		slices.Sort(hidden)
		b.WriteString(strings.Join(hidden, ""))
	}
	return b.String()
}

// agree compares counts and order with the model.
func (w *world) agree() {
	for _, name := range worldQueues {
		q := w.st.Names[name]
		w.st.Expire(q, w.now)
		ready := w.model.ready(name, w.now)
		if q.Fifo {
			w.agreeGroups(name, q)
			slices.SortFunc(ready, func(a, b *naiveMessage) int { return cmp.Compare(a.seq, b.seq) })
		}
		var got, want []uint64
		for _, e := range turns(q.Backlog) {
			got = append(got, e.Seq)
		}
		wantOldest := int64(0)
		oldest, _, _ := q.Oldest()
		if q.Fifo {
			for e := range q.All {
				if e.Place == machine.Visible {
					got = append(got, e.Seq)
				}
			}
			slices.Sort(got)
		}
		for _, m := range ready {
			want = append(want, m.seq)
			if wantOldest == 0 || m.sent < wantOldest {
				wantOldest = m.sent
			}
		}
		if !slices.Equal(got, want) || oldest != wantOldest {
			w.t.Fatalf("%s: visible %v oldest %d, want %v oldest %d", name, got, oldest, want, wantOldest)
		}
		if q.Visible() != len(got) || !q.Fifo && q.Ready.Live+q.Packed.N != len(got) ||
			q.Len() != len(w.model.queues[name]) || q.Visible()+q.Delayed.Len()+q.InFlight.Len() != q.Len() {
			w.t.Fatalf("%s: counts %d+%d+%d of %d, want %d in all", name, q.Visible(), q.Delayed.Len(),
				q.InFlight.Len(), q.Len(), len(w.model.queues[name]))
		}
	}
}

func (w *world) queue() string {
	return rapid.SampledFrom([]string{"work", "work", "work", "dead", "work.fifo", "work.fifo", "work.fifo",
		"dead.fifo"}).Draw(w.t, "queue")
}

func (w *world) send() {
	name, delay := w.queue(), int64(rapid.SampledFrom([]int{0, 0, 0, 1, 5_000}).Draw(w.t, "delay"))
	if rules.IsFIFO(name) {
		w.sendGroup(name, delay)
		return
	}
	w.st.Send(w.st.Names[name], w.now, delay, &machine.Record{Body: "b"})
	w.model.queues[name] = append(w.model.queues[name],
		&naiveMessage{seq: w.seq(), sent: w.now, visible: w.now + delay})
}

func (w *world) receive() {
	name, limit := w.queue(), rapid.IntRange(1, 4).Draw(w.t, "limit")
	timeout := int64(rapid.SampledFrom([]int{modelTimeout, 0, 1, 1_000}).Draw(w.t, "timeout"))
	q := w.st.Names[name]
	w.st.Expire(q, w.now)
	if w.batch++; q.Fifo {
		w.receiveGroups(name, q, timeout, limit)
		return
	}
	got, _ := w.st.Receive(q, w.now, timeout, limit, nil)
	want := w.model.receive(name, w.now, timeout, limit, w.seq)
	for i := range want {
		want[i].Queue = q.Saved.ID
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("received %+v, want %+v", got, want)
	}
	w.handles = append(w.handles, got...)
}

func (w *world) handle() (machine.Delivery, string, bool) {
	if len(w.handles) == 0 {
		return machine.Delivery{}, "", false
	}
	d := rapid.SampledFrom(w.handles).Draw(w.t, "handle")
	return d, w.st.IDs[d.Queue].Saved.Name, true
}

func (w *world) remove() {
	d, name, ok := w.handle()
	if !ok {
		return
	}
	got, err := w.st.Remove(w.st.Names[name], w.now, d.Seq, d.Count)
	m := w.model.find(name, d.Seq)
	want := m != nil && m.count <= d.Count
	if expired := rules.IsFIFO(name) && m != nil && (m.count != d.Count || m.visible <= w.now); expired {
		if got || err != machine.ErrExpiredHandle {
			w.t.Fatalf("delete of %+v by an expired handle: %t, %v", d, got, err)
		}
		return
	}
	if want {
		w.model.queues[name] = slices.DeleteFunc(w.model.queues[name], func(o *naiveMessage) bool { return o == m })
	}
	if got != want || err != nil {
		w.t.Fatalf("delete of %+v: %t, %v, want %t", d, got, err, want)
	}
}

func (w *world) change() {
	d, name, ok := w.handle()
	if !ok {
		return
	}
	timeout := int64(rapid.SampledFrom([]int{0, 1, 60_000, 43_200_000}).Draw(w.t, "timeout"))
	err := w.st.Change(w.st.Names[name], w.now, timeout, d.Seq, d.Count,
		rapid.SampledFrom([]machine.FlightState{machine.Received, machine.Returned}).Draw(w.t, "hands"))
	m := w.model.find(name, d.Seq)
	want := m != nil && w.now+timeout <= m.received+43_200_000
	if rules.IsFIFO(name) && m != nil && (m.count != d.Count || m.visible <= w.now) {
		want = false
	}
	if want {
		m.visible = w.now + timeout
	}
	if (err == nil) != want {
		w.t.Fatalf("change of %+v to %d: %v, want success %t", d, timeout, err, want)
	}
}

func (w *world) purge() {
	name := w.queue()
	w.st.Purge(w.st.Names[name])
	w.model.queues[name] = nil
	w.model.forget(name)
}

// step does one random thing.
func (w *world) step() {
	kinds := []func(){w.send, w.send, w.send, w.receive, w.receive, w.remove, w.change, w.purge}
	weights := rapid.IntRange(0, 20).Draw(w.t, "kind")
	kinds[min(weights, 20)*len(kinds)/21%len(kinds)]()
}

// TestStateAgreesWithTheNaiveModel also rebuilds the state from the stores, at
// random moments, and undoes random groups.
func TestStateAgreesWithTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, storage.NewMemoryStore(1<<30, []byte("secret")))
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			w.now += int64(rapid.SampledFrom([]int{0, 0, 0, 1, 999, 31_000, 400_000}).Draw(t, "wait"))
			w.agree()
			switch rapid.IntRange(0, 12).Draw(t, "then") {
			case 0:
				w.undone()
			case 1:
				w.st.Flush()
				w.st.Sweep(3)
				w.commit()
				w.rebuilt()
			case 2:
				w.received(w.receiveStored())
			default:
				w.step()
			}
			w.agree()
			if rapid.Bool().Draw(t, "commit") {
				w.commit()
			}
		}
	})
}

// rebuilt checks that loading from the stores gives the state there was.
func (w *world) rebuilt() {
	w.agree()
	w.commit()
	before := dump(w.st)
	w.reopen()
	if diff := gocmp.Diff(before, dump(w.st)); diff != "" {
		w.t.Fatalf("after reopening:\n%s", diff)
	}
}

// undone checks that a group that is rolled back leaves no trace.
func (w *world) undone() {
	w.commit()
	before, seq, handles, sent := dump(w.st), w.nextSeq, slices.Clone(w.handles), maps.Clone(w.model.sent)
	kept := map[string][]*naiveMessage{}
	for name, list := range w.model.queues {
		for _, m := range list {
			c := *m
			kept[name] = append(kept[name], &c)
		}
	}
	for range rapid.IntRange(1, 8).Draw(w.t, "undone steps") {
		w.step()
	}
	stays := w.receiveStored()
	w.st.Rollback()
	w.model.queues, w.model.sent, w.handles = kept, sent, handles
	w.nextSeq = max(seq, w.st.LastSeq)
	w.received(stays)
	w.agree()
	w.commit()
	if len(stays) > 0 {
		return // of those there is a trace
	}
	if diff := gocmp.Diff(before, dump(w.st)); diff != "" {
		w.t.Fatalf("after undoing:\n%s", diff)
	}
}
