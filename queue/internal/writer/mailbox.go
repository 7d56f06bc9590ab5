package writer

// Mailbox is a way to a [Writer] for one caller who goes on meanwhile: requests are gathered, handed in together by
// Submit, and what became of them is told by Deliver. One goroutine uses a mailbox.
type Mailbox struct {
	w        *Writer
	ring     func()
	gathered []Command
	answered []outcome // guarded by w.mu, as is
	rung     bool      // whether ring is called for them
}

// outcome is what became of a request, and who is to be told.
type outcome struct {
	then func(error)
	err  error
}

// NewMailbox returns a mailbox. Whenever there is something to deliver, ring is called, from another goroutine; it must
// return soon and call nothing of the writer.
func (w *Writer) NewMailbox(ring func()) *Mailbox { return &Mailbox{w: w, ring: ring} }

// Gather keeps a request for Submit; then is told its outcome by Deliver.
func (m *Mailbox) Gather(c Command, answer *Reply, then func(error)) {
	*answer = Reply{mailbox: m, then: then}
	m.gathered = append(m.gathered, c)
}

// Tell has then called by Deliver, for what became known outside of the writer.
func (m *Mailbox) Tell(then func(error), err error) {
	m.w.mu.Lock()
	m.note(outcome{then, err})
	m.w.mu.Unlock()
	m.w.ringAll()
}

// Gathered is how many requests wait for Submit.
func (m *Mailbox) Gathered() int { return len(m.gathered) }

// Submit hands in what was gathered. If nobody else has anything to commit, a single request may be committed
// during the call; its outcome is told by Deliver all the same.
func (m *Mailbox) Submit() {
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
				m.w.dismiss() // the writer may have ended before it came
			default:
			}
			return
		case <-m.w.Closing:
		}
	}
	m.w.mu.Lock()
	all.finish(m.w, ErrClosed)
	m.w.mu.Unlock()
	m.w.ringAll()
}

// Deliver tells what became of requests since the last time.
func (m *Mailbox) Deliver() {
	m.w.mu.Lock()
	answered := m.answered
	m.answered, m.rung = nil, false
	m.w.mu.Unlock()
	for _, o := range answered {
		o.then(o.err)
	}
}

// note keeps an outcome for Deliver; w.mu must be held.
func (m *Mailbox) note(o outcome) {
	m.answered = append(m.answered, o)
	if !m.rung {
		m.rung = true
		m.w.ringing = append(m.w.ringing, m)
	}
}

// ringAll calls the mailboxes that have something to deliver; w.mu must not be held.
func (w *Writer) ringAll() {
	w.mu.Lock()
	mailboxes := w.ringing
	w.ringing = nil
	w.mu.Unlock()
	for _, m := range mailboxes {
		m.ring()
	}
}

// dismiss answers what nobody will serve any more, since the writer has ended.
func (w *Writer) dismiss() {
	for {
		select {
		case c := <-w.requests:
			w.mu.Lock()
			c.finish(w, ErrClosed)
			w.mu.Unlock()
		default:
			w.ringAll()
			return
		}
	}
}

// bundle is the requests that a mailbox hands in at once.
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
