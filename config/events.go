package config

import (
	"fmt"
	"net/url"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
)

// This file declares the queues of events. Their messages are deleted as soon as they were read, so none of them may be
// a queue of work.

// maxEvents bounds the queues of events: each needs a connection that waits.
const maxEvents = 5

// EventQueue is a queue whose messages are events that wake fleets.
type EventQueue struct {
	// Queue is a queue on SQS: its URL is never empty.
	Queue QueueRef
}

func (e *EventQueue) rows(kinds Kinds) []keys.Key {
	return []keys.Key{
		keys.Custom("queue", keys.TextForm, "the URL of an SQS queue that rules of EventBridge, buckets, topics or "+
			"programs send events to; its messages are deleted when they were read",
			func(d *keys.Decoder, n *yaml.Node, path string) {
				if e.Queue = refer(d, n, path, kinds.Queues); e.Queue.Own() {
					d.Fault(path, "found "+keys.Quote(e.Queue.Name)+", allowed is the URL of an SQS queue",
						"programs on this machine send events by muster notify or POST /v1/events")
				}
			}).Required(),
	}
}

// checkEvents requires that no queue of events is stated twice, and that none is a queue of work.
func (c *Config) checkEvents(s *keys.Source, path string) {
	names := unique{}
	for i, e := range c.Events {
		at := keys.Element(path, i) + ".queue"
		names.check(s, e.Queue.URL, at, "another queue: %q is stated on line %d")
		if e.Queue == (QueueRef{}) {
			s.Fault(at, "found no queue, allowed is the URL of an SQS queue", "")
		}
		if e.Queue.URL == "" {
			continue
		}
		for _, fleet := range c.working(e.Queue) {
			s.Fault(at, fmt.Sprintf("found %s, which is a queue of the fleet %s, allowed is a queue of its own",
				keys.Quote(e.Queue.URL), fleet), "the messages of a queue of events are deleted when they "+
				"were read, and no worker gets them")
		}
	}
}

// TakesWork returns an error if a fleet has work in one of the queues given, from which a running muster up receives
// events until its next start. Its messages would be deleted before a worker gets them.
func (c *Config) TakesWork(received []EventQueue) error {
	for _, e := range received {
		if fleets := c.working(e.Queue); len(fleets) > 0 {
			return fmt.Errorf("found %s as a queue of the fleet %s, while its messages are received as events and "+
				"deleted until the next start; start muster up again, or give the fleet another queue", e.Queue.URL,
				fleets[0])
		}
	}
	return nil
}

// working returns the names of the fleets whose work or dead letters may be in a queue, in their order.
func (c *Config) working(queue QueueRef) (fleets []string) {
	for _, f := range c.Fleets {
		work := f.Queues
		for _, p := range f.Parts() {
			work = append(work[:len(work):len(work)], p.Workers.DeadLetter)
		}
		if slices.ContainsFunc(work, queue.same) {
			fleets = append(fleets, f.Name)
		}
	}
	return fleets
}

// same tells whether two references may mean one queue. SQS has several host names, so the account, the name and the
// region are compared. A queue on this machine may be embedded.
func (q QueueRef) same(other QueueRef) bool {
	switch {
	case q.Name == "" || q.Name != other.Name:
		return false
	case q.URL == other.URL || !q.Remote && !other.Remote:
		return true
	}
	a, errA := url.Parse(q.URL)
	b, errB := url.Parse(other.URL)
	return errA == nil && errB == nil && q.Remote == other.Remote && a.Path == b.Path && q.Region == other.Region
}
