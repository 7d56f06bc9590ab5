package machine

// Place says in which of a queue's structures a message is.
type Place uint8

// The places of a message. It becomes visible again from the others when its time has come.
const (
	Visible Place = iota + 1
	Delayed
	InFlight
)

// Numbers are what is known of a message besides its content and its queue.
// Times are Unix milliseconds; zero means never.
type Numbers struct {
	Seq      uint64
	Sent     int64
	Visible  int64 // when it becomes (or became) receivable
	Received int64 // the last receive in this queue; the 12 h limit counts from it
	First    int64 // the first receive anywhere
	Count    uint32
	Carried  uint32 // receives made before it was moved to this queue
}

// Row is a message as the store keeps it, without its content.
type Row struct {
	Numbers
	Queue uint32
}

// Entry is a message in memory: its numbers and where to find it. It holds no
// pointer and takes 64 bytes, about 120 with its places in the index, so that a
// million of them are affordable and cost the garbage collector nothing. Most of
// a long backlog is cold and has none.
type Entry struct {
	Numbers
	pos     uint32 // in its ring, or the heap of heads, when visible; else in the heap of its place
	agePos  uint32 // in the heap of ages when visible, in that of retries when returned
	Group   uint32 // number of its group; 0 means none
	Place   Place
	unsaved bool // the store's row is older than this one
	aside   bool // visible, of a tenant that takes more than its share
	hands   Hands
}

// Hands says what is known of who has a message in flight; it means nothing in other places.
type Hands uint8

const (
	// Received: its receiver works on it, as far as is known.
	Received Hands = iota
	// Returned: its receiver gave it back, and it is visible again later.
	Returned
	// unsure: it was in flight when the queue was opened. Which of the two it is becomes clear when its visibility is
	// changed once more or ends.
	unsure
)

// slab hands out entries by number. Reference 0 is never used.
type slab struct {
	Chunks []*[SlabChunk]Entry
	free   []uint32
	next   uint32
}

// SlabChunk is the number of entries that a slab allocates at a time.
const SlabChunk = 256

func (s *slab) At(ref uint32) *Entry { return &s.Chunks[ref/SlabChunk][ref%SlabChunk] }

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

// heap orders entries by a time. It is four-ary with the keys inside, which
// keeps the number of cache misses small when millions wait.
type heap struct {
	Nodes []Node
	ages  bool // positions are kept in entry.agePos instead of entry.pos
}

// Node is a place in a heap: an entry under its key, a time.
type Node struct {
	Key int64
	Ref uint32
}

// Len is the number of nodes.
func (h *heap) Len() int { return len(h.Nodes) }

// top is the smallest key; it must not be called on an empty heap.
func (h *heap) top() Node { return h.Nodes[0] }

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
