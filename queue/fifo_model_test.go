package queue

import (
	"cmp"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// naiveSent is what the model remembers of an accepted FIFO message.
type naiveSent struct {
	seq   uint64
	until int64
}

func (n *naive) forget(q string) {
	for key := range n.sent {
		if strings.HasPrefix(key, q+" ") {
			delete(n.sent, key)
		}
	}
}

// line is the messages of a group in the order they were sent.
func (n *naive) line(q, group string) []*naiveMessage {
	var out []*naiveMessage
	for _, m := range n.queues[q] {
		if m.group == group {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *naiveMessage) int { return cmp.Compare(a.seq, b.seq) })
	return out
}

func (n *naive) groups(q string) []string {
	var out []string
	for _, m := range n.queues[q] {
		out = append(out, m.group)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *world) sendGroup(name string, delay int64) {
	rec := &machine.Record{
		Body: "b", Group: rapid.SampledFrom([]string{"a", "a", "b", "c"}).Draw(w.t, "group"),
		Dedup: rapid.StringMatching(`[1-9][0-9]?`).Draw(w.t, "dedup"), ID: [16]byte{byte(w.nextSeq)},
	}
	stored, duplicate := w.st.SendOnce(w.st.Names[name], w.now, delay, rec)
	key := name + " " + rec.Dedup
	if prior, ok := w.model.sent[key]; ok && prior.until > w.now {
		if !duplicate || stored.Seq != prior.seq {
			w.t.Fatalf("sent %s again within five minutes: %+v, duplicate %t, want %+v", key, stored, duplicate, prior)
		}
		return
	}
	if seq := w.seq(); duplicate || stored.Seq != seq || stored.ID != rec.ID {
		w.t.Fatalf("sent %s: %+v, duplicate %t, want sequence %d", key, stored, duplicate, seq)
	}
	w.model.sent[key] = naiveSent{stored.Seq, w.now + machine.DedupFor}
	w.model.queues[name] = append(w.model.queues[name],
		&naiveMessage{seq: stored.Seq, sent: w.now, visible: w.now + delay, group: rec.Group})
}

// laning follows one receive from a FIFO queue. Which group comes first is
// free; everything else is not.
type laning struct {
	*world
	name  string
	moved map[uint64]uint64 // dead letters, by old sequence
	next  map[string]int    // how many messages of the front of a group are taken
}

// front is the message of a group that must be given out next, or nil. Dead
// letters in its way are moved.
func (l *laning) front(group string) *naiveMessage {
	for {
		line := l.model.line(l.name, group)
		at := l.next[group]
		if at >= len(line) || line[at].visible > l.now {
			return nil
		}
		m := line[at]
		if l.name != "work.fifo" || m.count-m.carried < modelMax {
			return m
		}
		seq, ok := l.moved[m.seq]
		if !ok {
			l.t.Fatalf("%d was received %d times and is not moved", m.seq, m.count)
		}
		delete(l.moved, m.seq)
		l.model.queues[l.name] = slices.DeleteFunc(l.model.queues[l.name], func(o *naiveMessage) bool { return o == m })
		dead := *m
		dead.seq, dead.visible, dead.sent, dead.received, dead.carried, dead.batch = seq, l.now, l.now, 0, m.count, 0
		l.model.queues["dead.fifo"] = append(l.model.queues["dead.fifo"], &dead)
	}
}

func (w *world) receiveGroups(name string, q *machine.Queue, timeout int64, limit int) {
	w.model.ready(name, w.now) // drops what outlived its retention
	before := len(w.st.Ops)
	got, durable := w.st.Receive(q, w.now, timeout, limit, nil)
	l := &laning{world: w, name: name, moved: map[uint64]uint64{}, next: map[string]int{}}
	for _, o := range w.st.Ops[before:] {
		if o.Kind == machine.OpMove {
			l.moved[o.Seq] = o.Row.Seq
		}
	}
	current := ""
	for i, d := range got {
		m := w.model.find(name, d.Seq)
		if m == nil {
			w.t.Fatalf("received %+v, which is not there", d)
		}
		if m.group != current {
			if left := l.front(current); current != "" && left != nil {
				w.t.Fatalf("group %s was left at %d although it goes on", current, left.seq)
			}
			if l.next[m.group] > 0 {
				w.t.Fatalf("group %s was taken twice in one receive", m.group)
			}
			current = m.group
		}
		if front := l.front(current); front != m {
			w.t.Fatalf("received %d of group %s (%d of the receive), want %+v", d.Seq, current, i, front)
		}
		l.next[current]++
		l.give(m, timeout, d, q.Saved.ID)
	}
	for _, group := range w.model.groups(name) {
		buried := slices.ContainsFunc(w.model.line(name, group),
			func(m *naiveMessage) bool { return l.moved[m.seq] != 0 })
		if len(got) == limit && !buried {
			continue // it need not have been looked at
		}
		if m := l.front(group); m != nil {
			w.t.Fatalf("received %d of %d although %d could be had", len(got), limit, m.seq)
		}
	}
	if len(l.moved) > 0 || !durable {
		w.t.Fatalf("moved %v without need; durable %t", l.moved, durable)
	}
	w.nextSeq = w.st.LastSeq
	w.handles = append(w.handles, got...)
}

// give takes m in flight, and compares what was given out.
func (l *laning) give(m *naiveMessage, timeout int64, d machine.Delivery, queue uint32) {
	m.count++
	m.batch = l.batch
	if m.first == 0 {
		m.first = l.now
	}
	if want := (machine.Delivery{Seq: m.seq, Queue: queue, Count: m.count, Sent: m.sent, First: m.first}); d != want {
		l.t.Fatalf("received %+v, want %+v", d, want)
	}
	m.received, m.visible = l.now, l.now+timeout
}

// agreeGroups compares which groups may be received from, and holds the two
// promises of a FIFO queue whatever the model says: along a group, who came
// earlier was given out no later, save one that was handed back or timed out.
func (w *world) agreeGroups(name string, q *machine.Queue) {
	var want []string
	for _, group := range w.model.groups(name) {
		line := w.model.line(name, group)
		if line[0].visible <= w.now {
			want = append(want, group)
		}
		last := 0
		for _, m := range line {
			if m.received == 0 || m.visible <= w.now {
				continue // not in flight
			}
			if last != 0 && m.batch > last {
				w.t.Fatalf("%s: %d of group %s was given out while an earlier one was in flight", name, m.seq, group)
			}
			last = m.batch
		}
	}
	var got []string
	for _, n := range q.Heads.Nodes {
		got = append(got, q.Groups.NameOf(q.Slab.At(n.Ref).Group))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) || q.Runnable() != len(want) {
		w.t.Fatalf("%s: may be received from %q, want %q", name, got, want)
	}
	if len(q.Groups.Names) != len(w.model.groups(name)) {
		w.t.Fatalf("%s: groups %v, want %q", name, q.Groups.Names, w.model.groups(name))
	}
}
