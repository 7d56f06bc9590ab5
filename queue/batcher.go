package queue

import "github.com/muster-scale/muster/queue/internal/writer"

// Batcher is the way into a Service for one caller that must not block, such as an event loop. It
// gathers requests, hands them to the writer together on Submit, and runs their callbacks on Deliver.
// Only one goroutine may use a batcher. Its requests keep the promises of the methods of Service with
// the same names.
//
//	b := s.NewBatcher(wakeLoop)
//	b.Send("jobs", messages, func(sent []queue.Sent, err error) { ... })
//	b.Submit()
//	// after wakeLoop was called:
//	b.Deliver() // runs the callbacks on this goroutine
//
// Use the methods of Service where the caller may block.
type Batcher struct {
	s     *Service
	batch *writer.Batcher
}

// NewBatcher returns a batcher. notify is called, from another goroutine, whenever there is something
// to deliver. It must return soon and must not call the service.
func (s *Service) NewBatcher(notify func()) *Batcher {
	return &Batcher{s: s, batch: s.writer.NewBatcher(notify)}
}

// Send is Service.Send. It calls done with the outcome, during this call if the request is refused,
// otherwise during Deliver.
func (k *Batcher) Send(name string, messages []Outgoing, done func([]Sent, error)) {
	c, out, err := k.s.newSend(name, messages)
	if err != nil || c == nil {
		done(out, err)
		return
	}
	k.batch.Gather(c, &c.Answer, func(err error) { done(sentOf(c, out, err)) })
}

// Delete is Service.Delete. It calls done with the outcomes, during this call if all handles are
// refused, otherwise during Deliver.
func (k *Batcher) Delete(name string, handles []string, done func([]error)) {
	c := &writer.Settle{Queue: name}
	errs := k.s.newSettle(c, len(handles),
		func(i int) VisibilityChange { return VisibilityChange{Receipt: handles[i]} })
	if errs != nil {
		done(errs)
		return
	}
	k.batch.Gather(c, &c.Answer, func(err error) { done(errorsOf(c, err)) })
}

// Receive is Service.Receive without a wait: o.Wait is ignored. It calls done with the messages, during
// this call if they are in memory, otherwise during Deliver.
func (k *Batcher) Receive(name string, o ReceiveOptions, done func([]Message, error)) {
	o.Wait = nil
	c, err := k.s.newReceive(name, o)
	if err == nil {
		err = k.s.writer.Alive()
	}
	if err != nil {
		done(nil, err)
		return
	}
	c.Wait, c.WaitFor = false, 0
	if k.s.writer.ServeNow(c) {
		k.open(c, done)
		return
	}
	k.batch.Gather(c, &c.Answer, func(err error) {
		if err := c.Kept(err); err != nil {
			done(nil, err)
			return
		}
		k.open(c, done)
	})
}

// open calls done with the received messages. If contents must be read from disk, a goroutine reads
// them and Deliver calls done, so that the caller never waits for the disk.
func (k *Batcher) open(c *writer.Receive, done func([]Message, error)) {
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
		k.batch.Tell(func(err error) { done(got, err) }, err)
	}()
}

// Gathered is the number of requests that wait for Submit.
func (k *Batcher) Gathered() int { return k.batch.Gathered() }

// Submit hands the gathered requests to the writer. A single request may be committed during the call
// if no other caller has anything to commit; Deliver still runs its callback.
func (k *Batcher) Submit() { k.batch.Submit() }

// Deliver runs the callbacks of the requests that finished since the last call.
func (k *Batcher) Deliver() { k.batch.Deliver() }
