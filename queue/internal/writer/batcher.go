package writer

// Batcher is a way to a [Writer] for one caller that must not block. It gathers requests, hands them in
// together on Submit and runs their callbacks on Deliver. Only one goroutine may use a batcher.
type Batcher struct {
	w        *Writer
	notify   func()
	gathered []Command
	answered []outcome // guarded by w.mu
	notified bool      // notify was or will be called for answered
}

// outcome is the result of a request, and the callback for it.
type outcome struct {
	then func(error)
	err  error
}

// NewBatcher returns a batcher. notify is called, from another goroutine, whenever there is something
// to deliver. It must return soon and must not call the writer.
func (w *Writer) NewBatcher(notify func()) *Batcher { return &Batcher{w: w, notify: notify} }

// Gather keeps a request for Submit. Deliver calls then with its outcome. answer is the Answer of c.
func (m *Batcher) Gather(c Command, answer *Reply, then func(error)) {
	*answer = Reply{batcher: m, then: then}
	m.gathered = append(m.gathered, c)
}

// Tell lets Deliver call then, for work that finished outside of the writer. It may be called from any
// goroutine.
func (m *Batcher) Tell(then func(error), err error) {
	m.w.mu.Lock()
	m.note(outcome{then, err})
	m.w.mu.Unlock()
	m.w.notifyAll()
}

// Gathered is the number of requests that wait for Submit.
func (m *Batcher) Gathered() int { return len(m.gathered) }

// Submit hands in the gathered requests. A single request may be committed during the call if no other
// caller has anything to commit; Deliver still runs its callback. After the end of the writer all
// requests fail with [ErrClosed].
func (m *Batcher) Submit() {
	if len(m.gathered) == 0 {
		return
	}
	if len(m.gathered) == 1 && m.w.commitNow(m.gathered[0]) {
		m.gathered = m.gathered[:0]
		return
	}
	all := bundle(m.gathered)
	m.gathered = make([]Command, 0, len(all))
	if m.w.Alive() == nil {
		select {
		case m.w.requests <- all:
			select {
			case <-m.w.done:
				m.w.refuseRest() // the writer may have ended before it took all
			default:
			}
			return
		case <-m.w.Closing:
		}
	}
	m.w.mu.Lock()
	all.finish(m.w, ErrClosed)
	m.w.mu.Unlock()
	m.w.notifyAll()
}

// Deliver runs the callbacks of the requests that finished since the last call. They run without the
// lock, so they may call the writer.
func (m *Batcher) Deliver() {
	m.w.mu.Lock()
	answered := m.answered
	m.answered, m.notified = nil, false
	m.w.mu.Unlock()
	for _, o := range answered {
		o.then(o.err)
	}
}

// note keeps an outcome for Deliver; w.mu must be held. The batcher is notified once for all outcomes
// until the next Deliver.
func (m *Batcher) note(o outcome) {
	m.answered = append(m.answered, o)
	if !m.notified {
		m.notified = true
		m.w.toNotify = append(m.w.toNotify, m)
	}
}

// notifyAll calls notify of the batchers that have something to deliver; w.mu must not be held.
func (w *Writer) notifyAll() {
	w.mu.Lock()
	batchers := w.toNotify
	w.toNotify = nil
	w.mu.Unlock()
	for _, m := range batchers {
		m.notify()
	}
}

// refuseRest refuses the requests left in the channel after the writer has ended.
func (w *Writer) refuseRest() {
	for {
		select {
		case c := <-w.requests:
			w.mu.Lock()
			c.finish(w, ErrClosed)
			w.mu.Unlock()
		default:
			w.notifyAll()
			return
		}
	}
}

// bundle is the requests that a batcher hands in at once. Each is applied and answered on its own.
type bundle []Command

func (t bundle) apply(w *Writer, now int64) verdict {
	for _, c := range t {
		w.apply(c, now)
	}
	return answeredEach
}

func (t bundle) finish(w *Writer, err error) {
	for _, c := range t {
		c.finish(w, err)
	}
}
