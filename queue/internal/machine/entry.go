package machine

// Place is the state of a message, which decides in which structures of a queue it is.
type Place uint8

// The places of a message. It becomes visible again from the others when its time has come.
const (
	// Visible messages can be received. Delayed and InFlight ones become visible at their due time.
	Visible Place = iota + 1
	Delayed
	InFlight
)

// Numbers are the facts about a message besides content and queue. Times are Unix milliseconds; zero means never.
type Numbers struct {
	Seq      uint64
	Sent     int64
	Visible  int64 // when it becomes, or became, visible
	Received int64 // last receive in this queue; MaxVisibility counts from it
	First    int64 // first receive in any queue
	// Count is the number of receives in all queues.
	Count   uint32
	Carried uint32 // the part of Count from before the move to this queue
}

// Row is a message as the store keeps it, without its content.
type Row struct {
	Numbers
	Queue uint32
}

// Entry is a message in memory: its numbers and its positions in the index. It holds no pointer and takes 64 bytes,
// about 120 with its share of the index. So a million entries are affordable and the garbage collector need not scan
// them. Most messages of a long backlog are packed and have no entry.
type Entry struct {
	Numbers
	pos      uint32 // in Ready, Deferred or Heads when visible, else in the heap of its place
	agePos   uint32 // in ages when visible, in Retries when returned
	Group    uint32 // number of its group; 0 is none
	Place    Place
	unsaved  bool // the store has an older row; see State.Unsaved
	deferred bool // visible and in Deferred
	flight   FlightState
}

// FlightState says whether a message in flight is worked on. It has no meaning in other places.
type FlightState uint8

const (
	// Received: its receiver works on it, as far as is known.
	Received FlightState = iota
	// Returned: its receiver returned it, and it waits for its retry.
	Returned
	// unsure: it was in flight when the queue was opened, and the store does not keep flight states. The next change
	// of its visibility decides it.
	unsure
)

// slab stores entries and refers to them by number. Reference 0 is never used, so that it can mean none. Chunks never
// move, so a *Entry stays valid while others are added.
type slab struct {
	Chunks []*[SlabChunk]Entry
	free   []uint32
	next   uint32
}

// SlabChunk is the number of entries that a slab allocates at a time.
const SlabChunk = 256

// At returns the entry of ref, which must be in use.
func (s *slab) At(ref uint32) *Entry { return &s.Chunks[ref/SlabChunk][ref%SlabChunk] }

// alloc stores e and returns its reference. Freed references are used first.
func (s *slab) alloc(e Entry) uint32 {
	var ref uint32
	if n := len(s.free); n > 0 {
		ref, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.next++
		ref = s.next
		if int(ref/SlabChunk) >= len(s.Chunks) {
			s.Chunks = append(s.Chunks, new([SlabChunk]Entry))
		}
	}
	*s.At(ref) = e
	return ref
}

func (s *slab) release(ref uint32) { s.free = append(s.free, ref) }

// heap is a min-heap of entries by a time. It has four children per node and holds its keys itself, which keeps the
// number of cache misses small when millions of messages wait. Entries store their positions, so that any one can be
// removed.
type heap struct {
	Nodes []Node
	ages  bool // positions are stored in Entry.agePos instead of Entry.pos
}

// Node is an element of a heap: an entry under its key, a time.
type Node struct {
	Key int64
	Ref uint32
}

// Len is the number of nodes.
func (h *heap) Len() int { return len(h.Nodes) }

// top returns the node with the smallest key; the heap must not be empty.
func (h *heap) top() Node { return h.Nodes[0] }

// set stores n at position i and tells the entry.
func (h *heap) set(s *slab, i int, n Node) {
	h.Nodes[i] = n
	if h.ages {
		s.At(n.Ref).agePos = uint32(i)
	} else {
		s.At(n.Ref).pos = uint32(i)
	}
}

func (h *heap) push(s *slab, key int64, ref uint32) {
	h.Nodes = append(h.Nodes, Node{})
	h.up(s, len(h.Nodes)-1, Node{key, ref})
}

// remove removes the node at position i.
func (h *heap) remove(s *slab, i int) {
	last := len(h.Nodes) - 1
	n := h.Nodes[last]
	h.Nodes = h.Nodes[:last]
	if i == last {
		return
	}
	if i > 0 && n.Key < h.Nodes[(i-1)/4].Key {
		h.up(s, i, n)
	} else {
		h.down(s, i, n)
	}
}

// up moves n from the free position i towards the root.
func (h *heap) up(s *slab, i int, n Node) {
	for i > 0 {
		parent := (i - 1) / 4
		if h.Nodes[parent].Key <= n.Key {
			break
		}
		h.set(s, i, h.Nodes[parent])
		i = parent
	}
	h.set(s, i, n)
}

// down moves n from the free position i towards the leaves.
func (h *heap) down(s *slab, i int, n Node) {
	for {
		child := 4*i + 1
		if child >= len(h.Nodes) {
			break
		}
		for c := child + 1; c < min(child+4, len(h.Nodes)); c++ {
			if h.Nodes[c].Key < h.Nodes[child].Key {
				child = c
			}
		}
		if h.Nodes[child].Key >= n.Key {
			break
		}
		h.set(s, i, h.Nodes[child])
		i = child
	}
	h.set(s, i, n)
}
