package queue

import "github.com/muster-scale/muster/queue/internal/writer"

// Courier is a way into a Service for one caller who goes on meanwhile: requests
// are gathered, handed in together by Submit, and what became of them is told by
// Deliver. One goroutine uses a courier. Its requests keep the promises of the
// methods of Service of the same names.
type Courier struct {
	s    *Service
	mail *writer.Mailbox
}

// NewCourier returns a courier. Whenever there is something to deliver, ring is
// called, from another goroutine; it must return soon and call nothing of the
// service.
func (s *Service) NewCourier(ring func()) *Courier {
	return &Courier{s: s, mail: s.writer.NewMailbox(ring)}
}

// Send is Service.Send. The outcome goes to done, during this call or Deliver.
func (k *Courier) Send(name string, messages []Outgoing, done func([]Sent, error)) {
	c, out, err := k.s.newSend(name, messages)
	if err != nil || c == nil {
		done(out, err)
		return
	}
	k.mail.Gather(c, &c.Answer, func(err error) { done(sentOf(c, out, err)) })
}

// Delete is Service.Delete. The outcomes go to done, during this call or Deliver.
func (k *Courier) Delete(name string, handles []string, done func([]error)) {
	c := &writer.Settle{Queue: name}
	errs := k.s.newSettle(c, len(handles),
		func(i int) VisibilityChange { return VisibilityChange{Receipt: handles[i]} })
	if errs != nil {
		done(errs)
		return
	}
	k.mail.Gather(c, &c.Answer, func(err error) { done(errorsOf(c, err)) })
}

// Receive is Service.Receive without a wait, whatever o says. The messages go to
// done, during this call or Deliver.
func (k *Courier) Receive(name string, o ReceiveOptions, done func([]Message, error)) {
	o.Wait = nil
	c, err := k.s.newReceive(name, o)
	if err == nil {
		err = k.s.writer.Alive()
	}
	if err != nil {
		done(nil, err)
		return
	}
	c.Wait, c.Patience = false, 0
	if k.s.writer.ServeNow(c) {
		k.open(c, done)
		return
	}
	k.mail.Gather(c, &c.Answer, func(err error) {
		if err := c.Kept(err); err != nil {
			done(nil, err)
			return
		}
		k.open(c, done)
	})
}

// open tells done what was received, later if the disk has to be read.
func (k *Courier) open(c *writer.Receive, done func([]Message, error)) {
	if len(c.Out) == 0 {
		done(nil, nil)
		return
	}
	inMemory := true
	for _, r := range c.Records[:len(c.Out)] {
		inMemory = inMemory && r != nil
	}
	if inMemory {
		done(k.s.open(c))
		return
	}
	go func() {
		got, err := k.s.open(c)
		k.mail.Tell(func(err error) { done(got, err) }, err)
	}()
}

// Gathered is how many requests wait for Submit.
func (k *Courier) Gathered() int { return k.mail.Gathered() }

// Submit hands in what was gathered. If nobody else has anything to commit, a single request may be committed
// during the call; its outcome is told by Deliver all the same.
func (k *Courier) Submit() { k.mail.Submit() }

// Deliver tells what became of requests since the last time.
func (k *Courier) Deliver() { k.mail.Deliver() }
