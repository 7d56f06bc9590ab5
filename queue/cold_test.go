package queue

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPacksGiveBackWhatTheyWereMadeOf over gaps and pauses of every size.
func TestPacksGiveBackWhatTheyWereMadeOf(t *testing.T) {
	step := rapid.SampledFrom([]int64{0, 1, 127, 128, 1 << 20, 1 << seqBits})
	rapid.Check(t, func(t *rapid.T) {
		at := sighting{1, -5}
		want := []sighting{at}
		for range rapid.IntRange(0, packSize-1).Draw(t, "more") {
			at.seq += uint64(max(1, step.Draw(t, "gap")))
			at.sent += step.Draw(t, "pause")
			want = append(want, at)
		}
		p := packed(want)
		if got := p.unpack(nil); !slices.Equal(got, want) {
			t.Fatalf("packed %v, unpacked %v", want, got)
		}
		if p.first != want[0] || p.last != at || p.n != len(want) {
			t.Fatalf("a pack of %v says first %v, last %v, %d", want, p.first, p.last, p.n)
		}
	})
}

// TestColdAgreesWithAPlainList pushes, takes from the front and from anywhere,
// over several packs and with a clock that goes back now and then.
func TestColdAgreesWithAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c cold
		var plain []entry
		seq, now := uint64(0), int64(1_000_000)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			many := rapid.SampledFrom([]int{1, 2, packSize, 3 * packSize}).Draw(t, "many")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0, 1:
				back := rapid.SampledFrom([]int64{0, 0, 10_000}).Draw(t, "set back by")
				for range many {
					seq, now = seq+1+seq%3, now+int64(seq%5)
					m := sighting{seq, now}
					if c.push(m, now-back) {
						plain = append(plain, coldEntry(m, now-back))
					} else if len(c.runs) < maxRuns {
						t.Fatalf("%v was refused with %d runs", m, len(c.runs))
					}
				}
				now -= rapid.SampledFrom([]int64{0, 0, 1, 20_000}).Draw(t, "clock back by")
			case 2:
				for range min(many, len(plain)) {
					m, at, run := c.first()
					c.pop(run)
					i, _ := slices.BinarySearchFunc(plain, m.seq, func(e entry, seq uint64) int { return cmp.Compare(e.seq, seq) })
					if least := slices.MinFunc(plain, inOrder); plain[i] != least || plain[i] != coldEntry(m, at) {
						t.Fatalf("first is %v, want %+v", m, least.numbers)
					}
					plain = slices.Delete(plain, i, i+1)
				}
			default:
				for range min(many, len(plain), 20) {
					i := rapid.IntRange(0, len(plain)-1).Draw(t, "which")
					m, at, ok := c.find(plain[i].seq, true)
					if !ok || coldEntry(m, at) != plain[i] {
						t.Fatalf("found %v at %d, %t, want %+v", m, at, ok, plain[i].numbers)
					}
					if _, _, again := c.find(m.seq, false); again {
						t.Fatalf("%v is still there", m)
					}
					plain = slices.Delete(plain, i, i+1)
				}
			}
			agreeCold(t, &c, plain)
		}
	})
}

func inOrder(a, b entry) int {
	return cmp.Or(cmp.Compare(a.visible, b.visible), cmp.Compare(a.seq, b.seq))
}

func agreeCold(t *rapid.T, c *cold, plain []entry) {
	var got []entry
	for e := range c.all {
		got = append(got, *e)
	}
	slices.SortFunc(got, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
	if !slices.Equal(got, plain) || c.n != len(plain) {
		t.Fatalf("holds %d messages, counted %d, want %d", len(got), c.n, len(plain))
	}
	oldest, ok := c.oldest()
	if ok != (len(plain) > 0) {
		t.Fatalf("an oldest: %t of %d", ok, len(plain))
	}
	if ok {
		if want := slices.MinFunc(plain, func(a, b entry) int { return cmp.Compare(a.sent, b.sent) }); oldest.sent != want.sent {
			t.Fatalf("the oldest was sent at %d, want %d", oldest.sent, want.sent)
		}
	}
}

// TestAMessageThatWaitsTakesFewBytes also when it was sent to a running queue.
func TestAMessageThatWaitsTakesFewBytes(t *testing.T) {
	const messages, group = 200_000, 100
	st := newState(1)
	q := st.put(&queueRow{name: "q"}, settings{retention: 1 << 50})
	for i := range int64(messages) {
		st.send(q, i/10, 0, &record{})
		if i%group == group-1 {
			st.committed()
		}
	}
	bytes := 0
	for i := range q.cold.runs {
		r := &q.cold.runs[i]
		for j := range r.packs {
			bytes += 80 + len(r.packs[j].steps)
		}
	}
	if q.visible() != messages || len(q.index) > coldAfter+group || q.cold.n != messages-len(q.index) {
		t.Errorf("%d visible, %d of them entries, %d cold", q.visible(), len(q.index), q.cold.n)
	}
	if each := bytes / q.cold.n; each > 3 {
		t.Errorf("a cold message takes %d bytes", each)
	}
	if n := len(q.slab.chunks) * slabChunk; n > 2*(coldAfter+group) {
		t.Errorf("there is room for %d entries", n)
	}
	for i := range int64(messages) {
		got, _ := st.receive(q, messages, 1000, 1, nil)
		if len(got) != 1 || got[0].sent != i/10 {
			t.Fatalf("received %+v as number %d", got, i)
		}
		if _, err := st.remove(q, messages, got[0].seq, 1); err != nil {
			t.Fatal(err)
		}
		st.committed()
	}
	if q.len() != 0 || len(q.cold.runs) != 0 {
		t.Errorf("%d messages are left", q.len())
	}
}

// TestAPurgedBacklogIsSweptFromTheStore to its last row, cold or not, and also
// if the purge was undone before, or the program was restarted after it.
func TestAPurgedBacklogIsSweptFromTheStore(t *testing.T) {
	for _, restart := range []bool{false, true} {
		m := newMemoryStore(1<<30, []byte("secret"))
		st := newState(1)
		st.keepWarm = 700
		q := st.put(&queueRow{name: "q"}, settings{retention: 1 << 50})
		commit := func() {
			t.Helper()
			if err := m.Commit(st.ops); err != nil {
				t.Fatal(err)
			}
			st.committed()
		}
		for range 5000 {
			st.send(q, 1, 0, &record{})
		}
		commit()
		st.purge(q)
		st.sweep(100)
		st.rollback()
		if q.len() != 5000 || len(st.garbage)+len(st.buried) != 0 {
			t.Fatalf("after undoing a purge %d messages, %d and %d packs to sweep", q.len(), len(st.garbage), len(st.buried))
		}
		st.purge(q)
		commit()
		if restart {
			var err error
			if st, _, err = load(m, 2); err != nil {
				t.Fatal(err)
			}
		}
		for range 30 {
			st.sweep(300)
			commit()
		}
		if len(st.garbage)+len(st.buried)+len(m.messages) != 0 {
			t.Errorf("restart %t: %d rows and %d packs are left to sweep, %d rows in the store", restart, len(st.garbage), len(st.buried), len(m.messages))
		}
	}
}

// TestOnlyWhatHasNothingToTellIsCold after a restart.
func TestOnlyWhatHasNothingToTellIsCold(t *testing.T) {
	const now = 1000
	for name, c := range map[string]struct {
		r    numbers
		text label
		cold bool
	}{
		"sent":                        {r: numbers{sent: 1, visible: 1}, cold: true},
		"sent as the clock was ahead": {r: numbers{sent: now + 5, visible: now + 5}, cold: true},
		"delayed":                     {r: numbers{sent: 1, visible: now + 1}},
		"delayed before":              {r: numbers{sent: 1, visible: 2}},
		"of a tenant":                 {r: numbers{sent: 1, visible: 1}, text: label{group: "g"}},
		"a dead letter":               {r: numbers{sent: 1, visible: 1}, text: label{source: "s"}},
		"received":                    {r: numbers{sent: 1, visible: 1, received: 1, first: 1, count: 1}},
		"received elsewhere":          {r: numbers{sent: 1, visible: 1, first: 1, count: 2, carried: 2}},
	} {
		m := newMemoryStore(1<<30, []byte("secret"))
		c.r.seq = 7
		want := c.r
		if want.sent > now {
			want.visible = now // no clock may hide a message
		}
		err := m.Commit([]op{
			{kind: opPutQueue, queue: &queueRow{id: 1, name: "q"}},
			{kind: opInsert, row: row{c.r, 1}, record: &record{group: c.text.group, source: c.text.source}},
		})
		if err != nil {
			t.Fatal(err)
		}
		st, _, err := load(m, now)
		if err != nil {
			t.Fatal(err)
		}
		q := st.names["q"]
		if (q.cold.n == 1) != c.cold || q.len() != 1 {
			t.Errorf("%s: %d of %d messages are cold", name, q.cold.n, q.len())
		}
		e, ok := q.look(7)
		ref, found := q.find(7)
		if !ok || ref == 0 || e.numbers != want || found.numbers != want || q.label(found) != c.text {
			t.Errorf("%s: looks like %+v, found %+v of %+v", name, e.numbers, found, q.label(found))
		}
	}
}
