package worker_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/muster-scale/muster/worker"
)

// list is a queue of messages in memory. What fails is lost with it; see [sqsqueue.SQS] for a queue that keeps
// messages.
type list chan worker.Message

func (l list) Receive(ctx context.Context, _ int, wait, _ time.Duration) ([]worker.Message, error) {
	select {
	case m := <-l:
		return []worker.Message{m}, nil
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return nil, nil
}

func (list) Delete(context.Context, worker.Message) error                          { return nil }
func (list) ChangeVisibility(context.Context, worker.Message, time.Duration) error { return nil }

// Without a controller a worker leaves when no message came for so long.
func ExampleRun() {
	queue := make(list, 2)
	queue <- worker.Message{ID: "1", Body: "first"}
	queue <- worker.Message{ID: "2", Body: "second"}
	err := worker.Run(context.Background(), worker.Options{
		Queue: queue,
		Do: func(_ context.Context, m worker.Message) error {
			fmt.Println(m.Body)
			return nil
		},
		IdleStop: 100 * time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// first
	// second
}
