package work

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// jobLogs writes the output of a worker's jobs, the worker's own log, and the last failure of each message. It
// implements [worker.Failures]. failures keeps the last failure of each message, so that a peek can show why it failed.
type jobLogs struct {
	fleet, member string
	log           *joblog.Log
	failures      *joblog.Failures
}

var _ worker.Failures = (*jobLogs)(nil)

// openJobLogs opens the log of a fleet below dir for a worker. Write errors are logged by trouble.
func openJobLogs(dir, fleet, member string, trouble *slog.Logger) *jobLogs {
	fleet = cmp.Or(fleet, "work")
	told := func(err error) {
		if err != nil {
			trouble.Warn("the output of jobs cannot be logged; the work goes on", "err", err)
		}
	}
	return &jobLogs{fleet, member, joblog.Open(dir, fleet, member, told), joblog.OpenFailures(dir, told)}
}

// close flushes the log and the failures.
func (k *jobLogs) close() error {
	k.failures.Close()
	return k.log.Close()
}

// printed logs a line of a job's output.
func (k *jobLogs) printed(p execution.Printed) {
	k.log.Write(joblog.Record{Kind: joblog.Output, Message: p.Message, Stream: p.Stream, Text: p.Text})
}

// Failed implements [worker.Failures].
func (k *jobLogs) Failed(f worker.Failure) {
	failure := joblog.Failure{
		At: f.At.UTC(), Fleet: k.fleet, Member: k.member, Queue: f.Message.Queue, Message: f.Message.ID,
		Attempt: f.Message.Attempt, TookSeconds: f.Took.Seconds(), DeadLetter: f.DeadLetter,
	}
	if !f.Lost && !f.DeadLetter {
		again := f.Again.Seconds()
		failure.AgainSeconds = &again
	}
	describeFailure(&failure, f.Err)
	if f.Lost {
		failure.Error += "; it will be delivered again"
	}
	k.log.Write(joblog.Record{
		At: f.At, Kind: joblog.Failed, Message: f.Message.ID, Text: failure.Error, Failure: &failure,
	})
	// The dead letter is another message, with an id of its own: a peek looks for that one.
	if f.DeadLetterID != "" {
		k.failures.Forget(f.Message.ID)
		k.failures.Keep(f.DeadLetterID, failure)
		return
	}
	k.failures.Keep(f.Message.ID, failure)
}

// Settled implements [worker.Failures].
func (k *jobLogs) Settled(m worker.Message) { k.failures.Forget(m.ID) }

// describeFailure copies the error of an attempt into its failure.
func describeFailure(failure *joblog.Failure, err error) {
	failure.Error = err.Error()
	if exit, ok := errors.AsType[*execution.ExitError](err); ok {
		failure.Output = cmp.Or(strings.TrimSpace(exit.Stderr), strings.TrimSpace(exit.Stdout))
		if exit.Signal != "" {
			failure.Signal = exit.Signal
			failure.Error = "ended by signal " + exit.Signal
		} else {
			failure.Status = &exit.Status
			failure.Error = fmt.Sprintf("exit status %d", exit.Status)
		}
		if exit.Cause != nil {
			failure.Error += ": " + exit.Cause.Error()
		}
	}
	if answer, ok := errors.AsType[*execution.AnswerError](err); ok {
		failure.Output = answer.Body
	}
}
