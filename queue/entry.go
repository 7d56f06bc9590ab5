package queue

// place says in which of a queue's structures a message is.
type place uint8

const (
	visible place = iota + 1
	delayed
	inFlight
)

// numbers are what is known of a message besides its content and its queue.
// Times are Unix milliseconds; zero means never.
type numbers struct {
	seq      uint64
	sent     int64
	visible  int64 // when it becomes (or became) receivable
	received int64 // the last receive in this queue; the 12 h limit counts from it
	first    int64 // the first receive anywhere
	count    uint32
	carried  uint32 // receives made before it was moved to this queue
}

// row is a message as the store keeps it, without its content.
type row struct {
	numbers
	queue uint32
}

// entry is a message in memory: its numbers and where to find it. It holds no
// pointer and takes 64 bytes, about 120 with its places in the index, so that a
// million of them are affordable and cost the garbage collector nothing. Most of
// a long backlog is cold and has none.
type entry struct {
	numbers
	pos     uint32 // in its ring, or the heap of heads, when visible; else in the heap of its place
	agePos  uint32 // in the heap of ages when visible, in that of retries when returned
	group   uint32 // number of its group; 0 means none
	place   place
	unsaved bool // the store's row is older than this one
	aside   bool // visible, of a tenant that takes more than its share
	hands   hands
}

// hands says what is known of who has a message in flight; it means nothing in other places.
type hands uint8

const (
	// received: whoever received it works on it, as far as it ever told.
	received hands = iota
	// returned: its receiver gave it back, and it is visible again later.
	returned
	// unsure: it was in flight when the queue was opened. Which of the two it is becomes clear when its visibility is
	// changed once more or ends.
	unsure
)

// slab hands out entries by number. Reference 0 is never used.
type slab struct {
	chunks []*[slabChunk]entry
	free   []uint32
	next   uint32
}

const slabChunk = 256

func (s *slab) at(ref uint32) *entry { return &s.chunks[ref/slabChunk][ref%slabChunk] }

func (s *slab) alloc(e entry) uint32 {
	var ref uint32
	if n := len(s.free); n > 0 {
		ref, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.next++
		ref = s.next
		if int(ref/slabChunk) >= len(s.chunks) {
			s.chunks = append(s.chunks, new([slabChunk]entry))
		}
	}
	*s.at(ref) = e
	return ref
}

func (s *slab) release(ref uint32) { s.free = append(s.free, ref) }

// heap orders entries by a time. It is four-ary with the keys inside, which
// keeps the number of cache misses small when millions wait.
type heap struct {
	nodes []node
	ages  bool // positions are kept in entry.agePos instead of entry.pos
}

type node struct {
	key int64
	ref uint32
}

func (h *heap) len() int { return len(h.nodes) }

// top is the smallest key; it must not be called on an empty heap.
func (h *heap) top() node { return h.nodes[0] }

func (h *heap) set(s *slab, i int, n node) {
	h.nodes[i] = n
	if h.ages {
		s.at(n.ref).agePos = uint32(i)
	} else {
		s.at(n.ref).pos = uint32(i)
	}
}

func (h *heap) push(s *slab, key int64, ref uint32) {
	h.nodes = append(h.nodes, node{})
	h.up(s, len(h.nodes)-1, node{key, ref})
}

func (h *heap) remove(s *slab, i int) {
	last := len(h.nodes) - 1
	n := h.nodes[last]
	h.nodes = h.nodes[:last]
	if i == last {
		return
	}
	if i > 0 && n.key < h.nodes[(i-1)/4].key {
		h.up(s, i, n)
	} else {
		h.down(s, i, n)
	}
}

func (h *heap) up(s *slab, i int, n node) {
	for i > 0 {
		parent := (i - 1) / 4
		if h.nodes[parent].key <= n.key {
			break
		}
		h.set(s, i, h.nodes[parent])
		i = parent
	}
	h.set(s, i, n)
}

func (h *heap) down(s *slab, i int, n node) {
	for {
		child := 4*i + 1
		if child >= len(h.nodes) {
			break
		}
		for c := child + 1; c < min(child+4, len(h.nodes)); c++ {
			if h.nodes[c].key < h.nodes[child].key {
				child = c
			}
		}
		if h.nodes[child].key >= n.key {
			break
		}
		h.set(s, i, h.nodes[child])
		i = child
	}
	h.set(s, i, n)
}
