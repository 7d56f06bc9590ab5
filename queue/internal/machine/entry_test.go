package machine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestAnEntryTakes64Bytes(t *testing.T) {
	if n := unsafe.Sizeof(Entry{}); n > 64 {
		t.Errorf("an entry takes %d bytes; a million of them must stay affordable", n)
	}
}

// TestHeapYieldsTheSmallestAfterRemovalsAnywhere compares with a plain list.
func TestHeapYieldsTheSmallestAfterRemovalsAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var s slab
		var h heap
		var refs []uint32
		for range 1 + random.IntN(200) {
			key := random.Int64N(100)
			ref := s.alloc(Entry{Numbers: Numbers{Visible: key}})
			h.push(&s, key, ref)
			refs = append(refs, ref)
		}
		for len(refs) > 0 {
			smallest := s.At(refs[0]).Visible
			for _, ref := range refs {
				smallest = min(smallest, s.At(ref).Visible)
				if n := h.Nodes[s.At(ref).pos]; n.Ref != ref {
					t.Fatalf("position of %d holds %d", ref, n.Ref)
				}
			}
			if got := h.top().Key; got != smallest || h.Len() != len(refs) {
				t.Fatalf("top %d of %d, want %d of %d", got, h.Len(), smallest, len(refs))
			}
			i := random.IntN(len(refs))
			h.remove(&s, int(s.At(refs[i]).pos))
			refs = slices.Delete(refs, i, i+1)
		}
	}
}

// TestRingKeepsOrderAndHoles removes anywhere and inserts anywhere, far beyond
// one turn of the ring.
func TestRingKeepsOrderAndHoles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s slab
		r := ring{Head: 1<<32 - 8, Tail: 1<<32 - 8} // positions wrap around soon
		var want []uint32
		for i, kind := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 300).Draw(t, "kinds") {
			switch {
			case kind < 3 || len(want) == 0:
				late := rapid.Int64Range(-3, 3).Draw(t, "lateness")
				ref := s.alloc(Entry{Numbers: Numbers{Visible: int64(i) + late, Seq: uint64(i)}})
				r.insert(&s, ref)
				want = append(want, ref)
				slices.SortFunc(want, func(a, b uint32) int {
					if Before(s.At(a), s.At(b)) {
						return -1
					}
					return 1
				})
			default:
				at := rapid.IntRange(0, len(want)-1).Draw(t, "removed") * (kind - 3)
				r.remove(s.At(want[at]).pos)
				want = slices.Delete(want, at, at+1)
			}
			var got []uint32
			for pos := r.Head; pos != r.Tail; pos++ {
				if ref := *r.Slot(pos); ref != 0 {
					got = append(got, ref)
				}
			}
			first := uint32(0)
			if len(want) > 0 {
				first = want[0]
			}
			if !slices.Equal(got, want) || r.Live != len(want) || r.front() != first {
				t.Fatalf("holds %v (live %d, front %d), want %v", got, r.Live, r.front(), want)
			}
		}
	})
}

// TestAnEmptiedBacklogGivesItsMemoryBack guards against a burst's cost staying.
func TestAnEmptiedBacklogGivesItsMemoryBack(t *testing.T) {
	b := newBacklog(false)
	for seq := range uint64(worthShrinking + 2) {
		b.Add(Entry{Numbers: Numbers{Seq: seq + 1, Visible: int64(seq)}, Place: Visible}, Label{})
	}
	for b.Len() > 0 {
		b.drop(b.Ready.front())
	}
	if len(b.Slab.Chunks) != 0 || len(b.Ready.slots) != 0 {
		t.Errorf("an empty backlog keeps %d chunks and %d slots", len(b.Slab.Chunks), len(b.Ready.slots))
	}
	if b.Arrivals != worthShrinking+2 {
		t.Errorf("arrivals %d were forgotten", b.Arrivals)
	}
}
