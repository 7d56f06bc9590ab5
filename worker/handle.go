package worker

import (
	"context"
	"log/slog"
	"os"
	"strconv"
)

// Handle works on the messages of the queue with the given URL until ctx ends or the controller lets the worker go: do is
// called for each, one at a time, as Options.Do is. The controller is the one that the environment names, as it does for
// workers of a fleet: MUSTER_API_URL and MUSTER_TOKEN, with MUSTER_FLEET and MUSTER_MEMBER; without MUSTER_API_URL there is
// none. What goes wrong is logged by [slog.Default]. It is [Run] with the defaults; use that for anything else.
func Handle(ctx context.Context, queueURL string, do func(ctx context.Context, m Message) error) error {
	queue, err := NewSQS(ctx, queueURL)
	if err != nil {
		return err
	}
	if err := KeepMemberLock(); err != nil {
		return err
	}
	o := Options{
		Queue: queue, Do: do, Logger: slog.Default(),
		Fleet: os.Getenv("MUSTER_FLEET"), Member: DefaultMember(),
	}
	if api := os.Getenv("MUSTER_API_URL"); api != "" {
		reporter, err := NewReporter(api, os.Getenv("MUSTER_TOKEN"))
		if err != nil {
			return err
		}
		o.Reporter = reporter
	}
	return Run(ctx, o)
}

// DefaultMember names the member this worker runs on: as MUSTER_MEMBER says, or else by the host and the process.
func DefaultMember() string {
	if m := os.Getenv("MUSTER_MEMBER"); m != "" {
		return m
	}
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}
