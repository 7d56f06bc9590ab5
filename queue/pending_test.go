package queue

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// foldingStore is a memory store behind a pending log, taken over now and then.
type foldingStore struct {
	*storage.MemoryStore
	t    *rapid.T
	late oplog.Pending
}

func (f *foldingStore) Commit(ops []machine.Op) error {
	for i := range ops {
		if ops[i].Kind == machine.OpPutQueue || ops[i].Kind == machine.OpDropQueue {
			f.fold() // as what the log does not take
			return f.MemoryStore.Commit(ops)
		}
	}
	for i := range ops {
		f.late.Add(&ops[i])
	}
	if rapid.IntRange(0, 3).Draw(f.t, "fold") == 0 {
		f.fold()
	}
	return nil
}

func (f *foldingStore) fold() {
	for o := range f.late.Ops {
		if err := f.MemoryStore.Commit([]machine.Op{*o}); err != nil {
			f.t.Fatal(err)
		}
	}
	f.late.Clear()
}

func (f *foldingStore) Load(begin func(machine.Saved) error, visit func(machine.Row, machine.Label) error) error {
	f.fold()
	return f.MemoryStore.Load(begin, visit)
}

// TestWhatTheLogAddsIsWhatTheOperationsDo compares a store that takes a log over at random moments with one that has
// none.
func TestWhatTheLogAddsIsWhatTheOperationsDo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plain := storage.NewMemoryStore(1<<30, []byte("secret"))
		folding := &foldingStore{storage.NewMemoryStore(1<<30, []byte("secret")), rt, oplog.NewPending()}
		w := newWorld(rt, plain, folding)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.now += int64(rapid.SampledFrom([]int{0, 1, 31_000, 400_000}).Draw(rt, "wait"))
			w.step()
			if rapid.Bool().Draw(rt, "commit") {
				w.commit()
			}
		}
		w.st.Flush()
		w.st.Sweep(writer.SweepRows)
		w.commit()
		w.reopen() // compares the two
		if folding.Used != plain.Used {
			rt.Fatalf("%d bytes are taken, want %d", folding.Used, plain.Used)
		}
	})
}

// TestARowIsChangedOnceWhateverHappensToIt sums up what is done to message 1, which later may be 2 and 3.
func TestARowIsChangedOnceWhateverHappensToIt(t *testing.T) {
	row := func(seq uint64, count uint32) machine.Row {
		return machine.Row{Numbers: machine.Numbers{Seq: seq, Count: count}, Queue: 7}
	}
	insert := machine.Op{Kind: machine.OpInsert, Row: row(1, 0), Record: &machine.Record{Body: "b"}}
	update := func(seq uint64, count uint32) machine.Op {
		return machine.Op{Kind: machine.OpUpdate, Row: row(seq, count)}
	}
	move := func(from, to uint64) machine.Op {
		return machine.Op{Kind: machine.OpMove, Seq: from, Row: row(to, 5), Source: fmt.Sprint("from ", from)}
	}
	remove := func(seq uint64) machine.Op { return machine.Op{Kind: machine.OpRemove, Seq: seq} }
	for _, r := range []struct {
		name string
		ops  []machine.Op
		want string // kind, sequence in the table, sequence, count and source; empty is nothing
	}{
		{"sent", []machine.Op{insert}, "1 0 1 0 "},
		{"sent and deleted", []machine.Op{insert, remove(1)}, ""},
		{"sent and received", []machine.Op{insert, update(1, 1)}, "1 0 1 1 "},
		{"sent and moved", []machine.Op{insert, move(1, 2)}, "1 0 2 5 from 1"},
		{"received twice", []machine.Op{update(1, 1), update(1, 2)}, "2 1 1 2 "},
		{"received and deleted", []machine.Op{update(1, 1), remove(1)}, "4 1 0 0 "},
		{"received and moved", []machine.Op{update(1, 1), move(1, 2)}, "3 1 2 5 from 1"},
		{"moved and received", []machine.Op{move(1, 2), update(2, 6)}, "3 1 2 6 from 1"},
		{"moved twice", []machine.Op{move(1, 2), move(2, 3)}, "3 1 3 5 from 2"},
		{"moved and deleted", []machine.Op{move(1, 2), remove(2)}, "4 1 0 0 "},
		{"deleted twice", []machine.Op{remove(1), remove(1)}, "4 1 0 0 "},
	} {
		p := oplog.NewPending()
		for i := range r.ops {
			p.Add(&r.ops[i])
		}
		got := ""
		for o := range p.Ops {
			got += fmt.Sprintf("%d %d %d %d %s", o.Kind, o.Seq, o.Row.Seq, o.Row.Count, o.Source)
			if o.Record != nil && o.Record.Source != o.Source {
				t.Errorf("%s: the record is from %q, want %q", r.name, o.Record.Source, o.Source)
			}
		}
		if got != r.want {
			t.Errorf("%s: %q, want %q", r.name, got, r.want)
		}
	}
	if insert.Record.Source != "" {
		t.Error("the record that was given is changed, which others may be reading")
	}
}
