package embedded

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
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

func open(_ context.Context, h *kind.Host, f config.Fleet, i int) (kind.Queue, error) {
	if h.Queues() == nil {
		return kind.Queue{}, fmt.Errorf("open the queue %s: it is embedded in muster up, and nothing here runs one",
			f.Queues[i].Name)
	}
	source := New(h.Queues(), f.Queues[i].Name)
	dead := f.Parts()[0].Workers.DeadLetter // by default that of the queue
	if i == 0 && dead.Own() {               // count it once for a fleet of several queues
		source = source.WithDeadLetters(dead.Name)
	}
	return kind.Queue{Source: source, Wakes: source}, nil
}
