package kernel

// Kind tells the events of a run apart. Each simulator declares its own kinds.
type Kind uint8

// None is the number that no member and no message has.
const None = int32(-1)

// Event is something that will happen at a known time.
type Event struct {
	// At is the time in nanoseconds since the start of the run.
	At int64
	// Seq numbers the events of a run from 1 on, in the order in which they were added.
	Seq uint64
	// What and Who are arguments, and their meaning depends on Kind. Who usually is the number of a member, or None.
	What uint64
	Who  int32
	Kind Kind
}

// Events holds the events to come in a heap with four children to a node, which is shallower than a binary one and so
// moves fewer events. Events at the same time leave in the order in which they were added: this makes a run
// reproducible. The zero value is empty.
type Events struct {
	nodes []Event
	seq   uint64
}

// Add adds an event at the time at. What and who are explained at [Event].
func (h *Events) Add(at int64, k Kind, who int32, what uint64) {
	h.seq++
	h.nodes = append(h.nodes, Event{At: at, Seq: h.seq, Kind: k, Who: who, What: what})
	h.up(len(h.nodes) - 1)
}

// Len returns how many events are to come.
func (h *Events) Len() int { return len(h.nodes) }

// Next returns the time of the first event. It must not be called when there is none.
func (h *Events) Next() int64 { return h.nodes[0].At }

// All returns the events to come, the first one first and the others in no useful order. It shares memory with h: the
// caller may change the times of events in it, and then must call [Events.Moved].
func (h *Events) All() []Event { return h.nodes }

// Moved restores the order of the heap after the times of events were changed.
func (h *Events) Moved() {
	for i := range h.nodes {
		h.up(i)
	}
}

// up moves the event at i to its place; the events before it must be in theirs.
func (h *Events) up(i int) {
	e := h.nodes[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !before(&e, &h.nodes[parent]) {
			break
		}
		h.nodes[i] = h.nodes[parent]
		i = parent
	}
	h.nodes[i] = e
}

// Pop removes the first event and returns it. It must not be called when there is none.
func (h *Events) Pop() Event {
	first := h.nodes[0]
	n := len(h.nodes) - 1
	last := h.nodes[n]
	h.nodes = h.nodes[:n]
	if n == 0 {
		return first
	}
	// The hole at the top moves down along the first child of each node, to where the last event fits.
	i := 0
	for {
		least := 4*i + 1
		if least >= n {
			break
		}
		for c := least + 1; c < min(4*i+5, n); c++ {
			if before(&h.nodes[c], &h.nodes[least]) {
				least = c
			}
		}
		if !before(&h.nodes[least], &last) {
			break
		}
		h.nodes[i] = h.nodes[least]
		i = least
	}
	h.nodes[i] = last
	return first
}

// before tells whether a comes before b. No two events are equal, because their numbers differ.
func before(a, b *Event) bool { return a.At < b.At || a.At == b.At && a.Seq < b.Seq }
