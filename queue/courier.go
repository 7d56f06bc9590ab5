package queue

// Courier is a way into a Service for one caller who goes on meanwhile: requests
// are gathered, handed in together by Submit, and what became of them is told by
// Deliver. One goroutine uses a courier. Its requests keep the promises of the
// methods of Service of the same names.
type Courier struct {
	s        *Service
	ring     func()
	gathered []command
	answered []outcome // guarded by s.mu, as is
	rung     bool      // whether ring is called for them
}

// outcome is what became of a request, and who is to be told.
type outcome struct {
	then func(error)
	err  error
}

// NewCourier returns a courier. Whenever there is something to deliver, ring is
// called, from another goroutine; it must return soon and call nothing of the
// service.
func (s *Service) NewCourier(ring func()) *Courier { return &Courier{s: s, ring: ring} }

// Send is Service.Send. The outcome goes to done, during this call or Deliver.
func (k *Courier) Send(name string, messages []Outgoing, done func([]Sent, error)) {
	c, out, err := k.s.newSend(name, messages)
	if err != nil || c == nil {
		done(out, err)
		return
	}
	k.gather(c, &c.answer, func(err error) { done(c.sent(out, err)) })
}

// Delete is Service.Delete. The outcomes go to done, during this call or Deliver.
func (k *Courier) Delete(name string, handles []string, done func([]error)) {
	c := &settleAll{queue: name}
	errs := k.s.newSettle(c, len(handles),
		func(i int) VisibilityChange { return VisibilityChange{Receipt: handles[i]} })
	if errs != nil {
		done(errs)
		return
	}
	k.gather(c, &c.answer, func(err error) { done(c.errors(err)) })
}

// Receive is Service.Receive without a wait, whatever o says. The messages go to
// done, during this call or Deliver.
func (k *Courier) Receive(name string, o ReceiveOptions, done func([]Message, error)) {
	o.Wait = nil
	c, err := k.s.newReceive(name, o)
	if err == nil {
		err = k.s.alive()
	}
	if err != nil {
		done(nil, err)
		return
	}
	c.wait, c.patience = false, 0
	if k.s.serveNow(c) {
		k.open(c, done)
		return
	}
	k.gather(c, &c.answer, func(err error) {
		if err != nil && c.taken == 0 {
			done(nil, err)
			return
		}
		if err != nil {
			c.out = c.out[:c.taken]
		}
		k.open(c, done)
	})
}

// open tells done what was received, later if the disk has to be read.
func (k *Courier) open(c *receive, done func([]Message, error)) {
	if len(c.out) == 0 {
		done(nil, nil)
		return
	}
	inMemory := true
	for _, r := range c.records[:len(c.out)] {
		inMemory = inMemory && r != nil
	}
	if inMemory {
		done(k.s.open(c))
		return
	}
	go func() {
		got, err := k.s.open(c)
		k.s.mu.Lock()
		k.note(outcome{func(err error) { done(got, err) }, err})
		k.s.mu.Unlock()
		k.s.ringAll()
	}()
}

// gather keeps a request for Submit; then is told its outcome by Deliver.
func (k *Courier) gather(c command, answer *reply, then func(error)) {
	*answer = reply{courier: k, then: then}
	k.gathered = append(k.gathered, c)
}

// Gathered is how many requests wait for Submit.
func (k *Courier) Gathered() int { return len(k.gathered) }

// Submit hands in what was gathered. If nobody else has anything to commit, a single request may be committed
// during the call; its outcome is told by Deliver all the same.
func (k *Courier) Submit() {
	if len(k.gathered) == 0 {
		return
	}
	if len(k.gathered) == 1 && k.s.commitNow(k.gathered[0]) {
		k.gathered = k.gathered[:0]
		return
	}
	all := bundle(k.gathered)
	k.gathered = make([]command, 0, len(all))
	if k.s.alive() == nil {
		select {
		case k.s.requests <- all:
			select {
			case <-k.s.done:
				k.s.dismiss() // the writer may have ended before it came
			default:
			}
			return
		case <-k.s.closing:
		}
	}
	k.s.mu.Lock()
	all.finish(k.s, ErrClosed)
	k.s.mu.Unlock()
	k.s.ringAll()
}

// Deliver tells what became of requests since the last time.
func (k *Courier) Deliver() {
	k.s.mu.Lock()
	answered := k.answered
	k.answered, k.rung = nil, false
	k.s.mu.Unlock()
	for _, o := range answered {
		o.then(o.err)
	}
}

// note keeps an outcome for Deliver; s.mu must be held.
func (k *Courier) note(o outcome) {
	k.answered = append(k.answered, o)
	if !k.rung {
		k.rung = true
		k.s.ringing = append(k.s.ringing, k)
	}
}

// ringAll calls the couriers that have something to deliver; s.mu must not be held.
func (s *Service) ringAll() {
	s.mu.Lock()
	couriers := s.ringing
	s.ringing = nil
	s.mu.Unlock()
	for _, k := range couriers {
		k.ring()
	}
}

// dismiss answers what nobody will serve any more, since the writer has ended.
func (s *Service) dismiss() {
	for {
		select {
		case c := <-s.requests:
			s.mu.Lock()
			c.finish(s, ErrClosed)
			s.mu.Unlock()
		default:
			s.ringAll()
			return
		}
	}
}

// bundle is the requests that a courier hands in at once.
type bundle []command

func (t bundle) apply(w *writer, now int64) verdict {
	for _, c := range t {
		w.apply(c, now)
	}
	return answeredEach
}

func (t bundle) finish(s *Service, err error) {
	for _, c := range t {
		c.finish(s, err)
	}
}
