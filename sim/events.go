package sim

// kind tells the events of a run apart.
type kind uint8

const (
	// Of the controller's shell.
	evPoll kind = iota
	evLooked
	evStep
	evOrder
	evResult
	evEnd
	evController
	evRestart
	// Of the way between workers and controller.
	evReport
	evAnswer
	evTimeout
	// Of a member.
	evBooted
	evDied
	evNotice
	evTaken
	evRefill
	evExit
	evPollEnd
	evReportDue
	evFinished
	evShared
	// Of the queue and the source.
	evVisible
	evBorn
	evSnapshot
	evWake
)

// event is something that will happen at an instant. What who and what mean depends on the kind.
type event struct {
	at   int64 // nanoseconds since the start of the run
	seq  uint64
	what uint64
	who  int32
	kind kind
}

// events is a four-ary heap by instant; events of one instant come in the order in which they were added.
type events struct {
	nodes []event
	seq   uint64
}

func (h *events) add(at int64, k kind, who int32, what uint64) {
	h.seq++
	h.nodes = append(h.nodes, event{at: at, seq: h.seq, kind: k, who: who, what: what})
	h.up(len(h.nodes) - 1)
}

// up moves the event at i to its place; the events before it must be in theirs.
func (h *events) up(i int) {
	e := h.nodes[i]
	for i > 0 {
		up := (i - 1) / 4
		if !before(&e, &h.nodes[up]) {
			break
		}
		h.nodes[i] = h.nodes[up]
		i = up
	}
	h.nodes[i] = e
}

// moved restores the order of the heap after the instants of events were changed.
func (h *events) moved() {
	for i := range h.nodes {
		h.up(i)
	}
}

// pop removes the first event; it must not be called when there is none.
func (h *events) pop() event {
	first := h.nodes[0]
	n := len(h.nodes) - 1
	last := h.nodes[n]
	h.nodes = h.nodes[:n]
	if n == 0 {
		return first
	}
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

func before(a, b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// happenTo makes an event happen to a member, unless it is another one by now.
func (r *run) happenTo(e event) {
	m := r.members[e.who]
	generation := e.what
	if e.kind == evPollEnd {
		generation = e.what >> 32
	}
	if uint64(m.generation) != generation {
		return
	}
	switch e.kind {
	case evBooted:
		if m.stage == booting {
			r.booted(e.who)
		}
	case evDied:
		r.died(e.who)
	case evNotice:
		r.noticed(e.who)
	case evTaken:
		r.die(e.who, "the cloud took it back", true)
	case evExit:
		r.exited(e.who)
	case evPollEnd:
		if m.asked > 0 && m.polled == uint32(e.what) {
			r.pollEnded(e.who)
		}
	case evReportDue:
		if e.at == m.reportDue { // and not an earlier plan
			m.reportDue = never
			r.advance(e.who)
		}
	}
}
