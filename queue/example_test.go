package queue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/muster-scale/muster/queue"
)

// A queue in this process, kept in memory: send, receive, and delete what was done.
func Example() {
	ctx := context.Background()
	s, err := queue.Open(queue.Options{Ephemeral: true}) // or Dir, to keep it on disk
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateQueue(ctx, "jobs", nil, nil); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Send(ctx, "jobs", []queue.Outgoing{{Body: "first"}, {Body: "second"}}); err != nil {
		log.Fatal(err)
	}
	received, err := s.Receive(ctx, "jobs", queue.ReceiveOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(received[0].Body)
	for _, err := range s.Delete(ctx, "jobs", []string{received[0].Receipt}) {
		fmt.Println("delete:", err)
	}
	c, err := s.Counts("jobs")
	fmt.Println("left:", c.Visible+c.InFlight, err)
	// Output:
	// first
	// delete: <nil>
	// left: 1 <nil>
}
