package embedded

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/queue"
)

// Kind is the row of the kind: a queue of Muster's own, which is named by its name alone.
func Kind() kind.QueueRow {
	return kind.QueueRow{
		QueueKind: config.QueueKind{
			Name: "embedded", Plural: "embedded queues",
			Takes: func(text string) bool { return !strings.Contains(text, ":") },
			Refer: func(text string) (q config.QueueRef, found, allowed string) {
				found, allowed = config.WrongQueueName(text)
				return config.QueueRef{Name: text}, found, allowed
			},
		},
		Open: open, World: kind.World{Wakes: true},
		Adapters: []kind.Adapter{kind.AdapterFor[Source]("queues of `muster up` itself")},
	}
}

// hosted are the queues that a host has; Service is nil in a program that runs none, such as muster doctor.
type hosted struct{ *queue.Service }

// Serve gives the queues to the fleets of a host. It is called before the first of them is opened.
func Serve(h *kind.Host, queues *queue.Service) {
	kind.Shared(h, func() hosted { return hosted{queues} })
}

func open(_ context.Context, h *kind.Host, f config.Fleet, i int) (kind.Queue, error) {
	queues := kind.Shared(h, func() hosted { return hosted{} }).Service
	if queues == nil {
		return kind.Queue{}, fmt.Errorf("open the queue %s: it is embedded in muster up, and nothing here runs one",
			f.Queues[i].Name)
	}
	source := New(queues, f.Queues[i].Name)
	dead := f.Parts()[0].Workers.DeadLetter // by default that of the queue
	if i == 0 && dead.Own() {               // count it once for a fleet of several queues
		source = source.WithDeadLetters(dead.Name)
	}
	return kind.Queue{Source: source, Wakes: source}, nil
}
