// Command muster keeps the right number of workers on every queue.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules know their zones on every machine

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/threshold"
)

// The exit codes, the same for every command.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitChanges   = 3
	exitThreshold = 4
)

func main() { os.Exit(run()) }

// run runs the command line of this process and returns its exit code. The first interrupt ends the command gracefully,
// the second at once.
func run() int {
	collectLater(os.Getenv)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		os.Exit(exitFailed)
	}()
	return execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot(args)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	coded := withCode(err)
	printFailure(errOut, coded, wantsJSON(args))
	return coded.code
}

// withCode adds to the error of a command its exit code.
func withCode(err error) *exitError {
	if coded, ok := errors.AsType[*exitError](err); ok {
		return coded
	}
	if _, missed := errors.AsType[*threshold.MissedError](err); missed {
		return &exitError{exitThreshold, err}
	}
	wrong, ok := errors.AsType[*misuse.Error](err)
	switch {
	case !ok:
		return &exitError{exitFailed, err}
	case wrong.Setting != "" && err.Error() == wrong.Error():
		return &exitError{exitUsage, fmt.Errorf("--%w", err)} // a setting is a flag here
	}
	return &exitError{exitUsage, err}
}

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as wrong usage or configuration.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}
