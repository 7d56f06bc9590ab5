package queue

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// TestPacksGiveBackWhatTheyWereMadeOf over gaps and pauses of every size.
func TestPacksGiveBackWhatTheyWereMadeOf(t *testing.T) {
	step := rapid.SampledFrom([]int64{0, 1, 127, 128, 1 << 20, 1 << machine.SeqBits})
	rapid.Check(t, func(t *rapid.T) {
		at := machine.PackedMessage{Seq: 1, Sent: -5}
		want := []machine.PackedMessage{at}
		for range rapid.IntRange(0, machine.PackSize-1).Draw(t, "more") {
			at.Seq += uint64(max(1, step.Draw(t, "gap")))
			at.Sent += step.Draw(t, "pause")
			want = append(want, at)
		}
		p := machine.NewPack(want)
		if got := p.Unpack(nil); !slices.Equal(got, want) {
			t.Fatalf("packed %v, unpacked %v", want, got)
		}
		if p.First != want[0] || p.Last != at || p.N != len(want) {
			t.Fatalf("a pack of %v says first %v, last %v, %d", want, p.First, p.Last, p.N)
		}
	})
}

// TestPackedAgreesWithAPlainList pushes, takes from the front and from anywhere,
// over several packs and with a clock that goes back now and then.
func TestPackedAgreesWithAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c machine.Packed
		var plain []machine.Entry
		seq, now := uint64(0), int64(1_000_000)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			many := rapid.SampledFrom([]int{1, 2, machine.PackSize, 3 * machine.PackSize}).Draw(t, "many")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0, 1:
				back := rapid.SampledFrom([]int64{0, 0, 10_000}).Draw(t, "set back by")
				for range many {
					seq, now = seq+1+seq%3, now+int64(seq%5)
					m := machine.PackedMessage{Seq: seq, Sent: now}
					if c.Push(m, now-back) {
						plain = append(plain, machine.PackedEntry(m, now-back))
					} else if len(c.Runs) < machine.MaxRuns {
						t.Fatalf("%v was refused with %d runs", m, len(c.Runs))
					}
				}
				now -= rapid.SampledFrom([]int64{0, 0, 1, 20_000}).Draw(t, "clock back by")
			case 2:
				for range min(many, len(plain)) {
					m, at, run := c.First()
					c.Pop(run)
					i, _ := slices.BinarySearchFunc(plain, m.Seq,
						func(e machine.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
					if least := slices.MinFunc(plain, inOrder); plain[i] != least ||
						plain[i] != machine.PackedEntry(m, at) {
						t.Fatalf("first is %v, want %+v", m, least.Numbers)
					}
					plain = slices.Delete(plain, i, i+1)
				}
			default:
				for range min(many, len(plain), 20) {
					i := rapid.IntRange(0, len(plain)-1).Draw(t, "which")
					m, at, ok := c.Find(plain[i].Seq, true)
					if !ok || machine.PackedEntry(m, at) != plain[i] {
						t.Fatalf("found %v at %d, %t, want %+v", m, at, ok, plain[i].Numbers)
					}
					if _, _, again := c.Find(m.Seq, false); again {
						t.Fatalf("%v is still there", m)
					}
					plain = slices.Delete(plain, i, i+1)
				}
			}
			agreePacked(t, &c, plain)
		}
	})
}

func inOrder(a, b machine.Entry) int {
	return cmp.Or(cmp.Compare(a.Visible, b.Visible), cmp.Compare(a.Seq, b.Seq))
}

func agreePacked(t *rapid.T, c *machine.Packed, plain []machine.Entry) {
	var got []machine.Entry
	for e := range c.All {
		got = append(got, *e)
	}
	slices.SortFunc(got, func(a, b machine.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	if !slices.Equal(got, plain) || c.N != len(plain) {
		t.Fatalf("holds %d messages, counted %d, want %d", len(got), c.N, len(plain))
	}
	oldest, ok := c.Oldest()
	if ok != (len(plain) > 0) {
		t.Fatalf("an oldest: %t of %d", ok, len(plain))
	}
	if ok {
		if want := slices.MinFunc(plain,
			func(a, b machine.Entry) int { return cmp.Compare(a.Sent, b.Sent) }); oldest.Sent != want.Sent {
			t.Fatalf("the oldest was sent at %d, want %d", oldest.Sent, want.Sent)
		}
	}
}

// TestAMessageThatWaitsTakesFewBytes also when it was sent to a running queue.
func TestAMessageThatWaitsTakesFewBytes(t *testing.T) {
	const messages, group = 200_000, 100
	st := machine.NewState(1)
	q := st.Put(&machine.QueueRow{Name: "q"}, machine.Settings{Retention: 1 << 50})
	for i := range int64(messages) {
		st.Send(q, i/10, 0, &machine.Record{})
		if i%group == group-1 {
			st.Committed()
		}
	}
	bytes := 0
	for i := range q.Packed.Runs {
		r := &q.Packed.Runs[i]
		for j := range r.Packs {
			bytes += 80 + len(r.Packs[j].Steps)
		}
	}
	if q.Visible() != messages || len(q.Index) > machine.PackAfter+group || q.Packed.N != messages-len(q.Index) {
		t.Errorf("%d visible, %d of them entries, %d packed", q.Visible(), len(q.Index), q.Packed.N)
	}
	if each := bytes / q.Packed.N; each > 3 {
		t.Errorf("a packed message takes %d bytes", each)
	}
	if n := len(q.Slab.Chunks) * machine.SlabChunk; n > 2*(machine.PackAfter+group) {
		t.Errorf("there is room for %d entries", n)
	}
	for i := range int64(messages) {
		got, _ := st.Receive(q, messages, 1000, 1, nil)
		if len(got) != 1 || got[0].Sent != i/10 {
			t.Fatalf("received %+v as number %d", got, i)
		}
		if _, err := st.Remove(q, messages, got[0].Seq, 1); err != nil {
			t.Fatal(err)
		}
		st.Committed()
	}
	if q.Len() != 0 || len(q.Packed.Runs) != 0 {
		t.Errorf("%d messages are left", q.Len())
	}
}

// TestAPurgedBacklogIsSweptFromTheStore to its last row, packed or not, and also
// if the purge was undone before, or the program was restarted after it.
func TestAPurgedBacklogIsSweptFromTheStore(t *testing.T) {
	for _, restart := range []bool{false, true} {
		m := storage.NewMemoryStore(1<<30, []byte("secret"))
		st := machine.NewState(1)
		st.KeepEntries = 700
		q := st.Put(&machine.QueueRow{Name: "q"}, machine.Settings{Retention: 1 << 50})
		commit := func() {
			t.Helper()
			if err := m.Commit(st.Ops); err != nil {
				t.Fatal(err)
			}
			st.Committed()
		}
		for range 5000 {
			st.Send(q, 1, 0, &machine.Record{})
		}
		commit()
		st.Purge(q)
		st.Sweep(100)
		st.Rollback()
		if q.Len() != 5000 || len(st.Garbage)+len(st.GarbagePacks) != 0 {
			t.Fatalf("after undoing a purge %d messages, %d and %d packs to sweep", q.Len(), len(st.Garbage),
				len(st.GarbagePacks))
		}
		st.Purge(q)
		commit()
		if restart {
			var err error
			if st, _, err = machine.Load(m, 2, rules.ParseSettings); err != nil {
				t.Fatal(err)
			}
		}
		for range 30 {
			st.Sweep(300)
			commit()
		}
		if len(st.Garbage)+len(st.GarbagePacks)+len(m.Messages) != 0 {
			t.Errorf("restart %t: %d rows and %d packs are left to sweep, %d rows in the store", restart,
				len(st.Garbage), len(st.GarbagePacks), len(m.Messages))
		}
	}
}

// TestOnlyUntouchedMessagesArePacked after a restart.
func TestOnlyUntouchedMessagesArePacked(t *testing.T) {
	const now = 1000
	for name, c := range map[string]struct {
		r      machine.Numbers
		text   machine.Label
		packed bool
	}{
		"sent":                        {r: machine.Numbers{Sent: 1, Visible: 1}, packed: true},
		"sent as the clock was ahead": {r: machine.Numbers{Sent: now + 5, Visible: now + 5}, packed: true},
		"delayed":                     {r: machine.Numbers{Sent: 1, Visible: now + 1}},
		"delayed before":              {r: machine.Numbers{Sent: 1, Visible: 2}},
		"of a tenant":                 {r: machine.Numbers{Sent: 1, Visible: 1}, text: machine.Label{Group: "g"}},
		"a dead letter":               {r: machine.Numbers{Sent: 1, Visible: 1}, text: machine.Label{Source: "s"}},
		"received":                    {r: machine.Numbers{Sent: 1, Visible: 1, Received: 1, First: 1, Count: 1}},
		"received elsewhere":          {r: machine.Numbers{Sent: 1, Visible: 1, First: 1, Count: 2, Carried: 2}},
	} {
		m := storage.NewMemoryStore(1<<30, []byte("secret"))
		c.r.Seq = 7
		want := c.r
		if want.Sent > now {
			want.Visible = now // no clock may hide a message
		}
		err := m.Commit([]machine.Op{
			{Kind: machine.OpPutQueue, Queue: &machine.QueueRow{ID: 1, Name: "q"}},
			{Kind: machine.OpInsert, Row: machine.Row{Numbers: c.r, Queue: 1},
				Record: &machine.Record{Group: c.text.Group, Source: c.text.Source}},
		})
		if err != nil {
			t.Fatal(err)
		}
		st, _, err := machine.Load(m, now, rules.ParseSettings)
		if err != nil {
			t.Fatal(err)
		}
		q := st.Names["q"]
		if (q.Packed.N == 1) != c.packed || q.Len() != 1 {
			t.Errorf("%s: %d of %d messages are packed", name, q.Packed.N, q.Len())
		}
		e, ok := q.Look(7)
		ref, found := q.Find(7)
		if !ok || ref == 0 || e.Numbers != want || found.Numbers != want || q.Label(found) != c.text {
			t.Errorf("%s: looks like %+v, found %+v of %+v", name, e.Numbers, found, q.Label(found))
		}
	}
}
