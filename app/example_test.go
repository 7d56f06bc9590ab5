package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/queue"
)

// A program with Muster inside: it has the embedded queue, sends to it, and ends.
func Example() {
	data, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data)
	c, err := kinds.Parse("muster.yaml", []byte(`version: 1
listen: {queue: "127.0.0.1:0", api: "127.0.0.1:0"}
queues: [{name: jobs}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Data = data
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a, err := app.Open(ctx, c, app.Options{Ephemeral: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }()
	if _, err := a.Queues().Send(ctx, "jobs", []queue.Outgoing{{Body: "hello"}}); err != nil {
		fmt.Println(err)
	}
	counts, err := a.Queues().Counts("jobs")
	fmt.Println(counts.Visible, err)
	stop()
	fmt.Println(<-ended)
	// Output:
	// 1 <nil>
	// <nil>
}
