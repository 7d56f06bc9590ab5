// Package sqsworker runs a worker in Go with one call: for a queue of Amazon SQS or of Muster, with the controller from
// the environment and the defaults of package worker.
package sqsworker

import (
	"context"
	"log/slog"
	"os"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
	"github.com/muster-scale/muster/worker/httpreport"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// Handle works on the messages of the queue with the given URL until ctx ends or the controller releases the worker. It
// calls do for each message, one at a time, as Options.Do. The environment names the controller, as it does for workers
// of a fleet: MUSTER_API_URL and MUSTER_TOKEN, with MUSTER_FLEET and MUSTER_MEMBER. Without MUSTER_API_URL there is
// none. Problems are logged by [slog.Default]. It is [Run] with the defaults; use that for anything else.
func Handle(ctx context.Context, queueURL string, do func(ctx context.Context, m worker.Message) error) error {
	queue, err := sqsqueue.NewSQS(ctx, queueURL)
	if err != nil {
		return err
	}
	if err := execution.KeepMemberLock(); err != nil {
		return err
	}
	o := worker.Options{
		Queue: queue, Do: do, Logger: slog.Default(),
		Fleet: os.Getenv("MUSTER_FLEET"), Member: worker.DefaultMember(),
	}
	if api := os.Getenv("MUSTER_API_URL"); api != "" {
		reporter, err := httpreport.NewReporter(api, os.Getenv("MUSTER_TOKEN"))
		if err != nil {
			return err
		}
		o.Reporter = reporter
	}
	return worker.Run(ctx, o)
}
