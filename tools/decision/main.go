// Command decision makes one decision with the parts that `muster up` runs, and writes which statements that took: one
// message comes to an embedded queue, and the fleet, a process on this machine, launches a worker for it. Build it with
// -cover -covermode=atomic, and name a directory for the counters:
//
//	decision -policy exact DIRECTORY
//
// The test beside it builds and runs it, and holds how many files one has to read to follow a decision.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/coverage"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/source/embedded"
)

func main() {
	name := flag.String("policy", "exact", "the policy that decides")
	flag.Parse()
	if err := decide(*name, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "decision:", err)
		os.Exit(1)
	}
}

// patience bounds the whole run.
const patience = 20 * time.Second

// decide makes the decision and writes its counters to dir. Counters are cleared after the first step and written at
// the launch, so they hold exactly the statements of one decision.
func decide(name, dir string) error {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	work, err := os.MkdirTemp("", "decision")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// In memory, because storage is no part of a decision.
	queues, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		return err
	}
	defer queues.Close()
	if err := queues.CreateQueue(ctx, "work", nil, nil); err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	written := make(chan error, 1)
	write := func() { written <- errors.Join(coverage.WriteCountersDir(dir), coverage.WriteMetaDir(dir)) }
	// The environment is asked for just before a worker starts: then the decision has been carried out, and the
	// counters are complete.
	fleet, err := process.New(process.Options{Fleet: "f", Dir: work, Argv: []string{"sleep", "1"},
		Env: func(string) []string { write(); return nil }, Logger: quiet}) // asked just before the worker starts
	if err != nil {
		return err
	}
	settings, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"work"}, Spec: policy.Spec{Name: name, Processing: time.Minute}, Poll: time.Hour,
		Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Limits:    muster.Limits{Max: 5, LaunchesPerHour: 100},
	})
	if err != nil {
		return err
	}
	// The buffer holds every step: Notify must not block the loop.
	source, stepped := embedded.New(queues, "work"), make(chan struct{}, 100)
	l := loop.New(loop.Options{Settings: settings, Sources: []muster.Source{source}, Wakes: []muster.Notifier{source},
		Fleet: fleet, Releaser: fleet, History: history.NewMemory(), Logger: quiet,
		Notify: func(controller.Outcome) { stepped <- struct{}{} }})
	life, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- l.Run(life) }()
	<-stepped // it has taken the fleet as it found it
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if _, err := queues.Send(ctx, "work", []queue.Outgoing{{Body: "x"}}); err != nil {
		return err
	}
	select {
	case err = <-written:
	case <-ctx.Done():
		err = errors.New("no worker was launched")
	}
	end()
	return errors.Join(err, <-ended)
}
