package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestAnEntryTakes64Bytes(t *testing.T) {
	if n := unsafe.Sizeof(entry{}); n > 64 {
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
			ref := s.alloc(entry{numbers: numbers{visible: key}})
			h.push(&s, key, ref)
			refs = append(refs, ref)
		}
		for len(refs) > 0 {
			smallest := s.at(refs[0]).visible
			for _, ref := range refs {
				smallest = min(smallest, s.at(ref).visible)
				if n := h.nodes[s.at(ref).pos]; n.ref != ref {
					t.Fatalf("position of %d holds %d", ref, n.ref)
				}
			}
			if got := h.top().key; got != smallest || h.len() != len(refs) {
				t.Fatalf("top %d of %d, want %d of %d", got, h.len(), smallest, len(refs))
			}
			i := random.IntN(len(refs))
			h.remove(&s, int(s.at(refs[i]).pos))
			refs = slices.Delete(refs, i, i+1)
		}
	}
}

// TestRingKeepsOrderAndHoles removes anywhere and inserts anywhere, far beyond
// one turn of the ring.
func TestRingKeepsOrderAndHoles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s slab
		r := ring{head: 1<<32 - 8, tail: 1<<32 - 8} // positions wrap around soon
		var want []uint32
		for i, kind := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 300).Draw(t, "kinds") {
			switch {
			case kind < 3 || len(want) == 0:
				late := rapid.Int64Range(-3, 3).Draw(t, "lateness")
				ref := s.alloc(entry{numbers: numbers{visible: int64(i) + late, seq: uint64(i)}})
				r.insert(&s, ref)
				want = append(want, ref)
				slices.SortFunc(want, func(a, b uint32) int {
					if before(s.at(a), s.at(b)) {
						return -1
					}
					return 1
				})
			default:
				at := rapid.IntRange(0, len(want)-1).Draw(t, "removed") * (kind - 3)
				r.remove(s.at(want[at]).pos)
				want = slices.Delete(want, at, at+1)
			}
			var got []uint32
			for pos := r.head; pos != r.tail; pos++ {
				if ref := *r.slot(pos); ref != 0 {
					got = append(got, ref)
				}
			}
			first := uint32(0)
			if len(want) > 0 {
				first = want[0]
			}
			if !slices.Equal(got, want) || r.live != len(want) || r.front() != first {
				t.Fatalf("holds %v (live %d, front %d), want %v", got, r.live, r.front(), want)
			}
		}
	})
}

// TestAnEmptiedBacklogGivesItsMemoryBack guards against a burst's cost staying.
func TestAnEmptiedBacklogGivesItsMemoryBack(t *testing.T) {
	b := newBacklog(false)
	for seq := range uint64(worthShrinking + 2) {
		b.add(entry{numbers: numbers{seq: seq + 1, visible: int64(seq)}, place: visible}, label{})
	}
	for b.len() > 0 {
		b.drop(b.ready.front())
	}
	if len(b.slab.chunks) != 0 || len(b.ready.slots) != 0 {
		t.Errorf("an empty backlog keeps %d chunks and %d slots", len(b.slab.chunks), len(b.ready.slots))
	}
	if b.arrivals != worthShrinking+2 {
		t.Errorf("arrivals %d were forgotten", b.arrivals)
	}
}
