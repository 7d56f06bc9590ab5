// Command muster keeps the right number of workers on every queue.
//
// This package is the command line and nothing else: flags, checks of their values, and calls of the packages that do
// the work. What a command does is in a package of its own, so that it can be tested and used without a command line:
//
//	up                    app, app/console
//	demo, sleep-body      app/demo
//	validate              app/validate
//	work                  app/work
//	send                  app/testload, app/client
//	check, schema         config, kinds
//	plan                  app/plan
//	explain               app/explain
//	status                app/status, app/client
//	logs                  app/logs
//	doctor                app/doctor
//	publish               app/publish
//	queue                 app/queuetool, queue/check
//	tree                  app/treetool, tree/runner
//	trace                 sim/trace, sim/trace/statistics
//	simulate, compare     sim/contest, sim/comparison, sim/report
//	worlds                sim/worlds, sim/tournament
//	import                app/importing, config/foreign
//
// Three groups of commands are packages below this one: internal/queues, internal/trees and internal/simulations. All
// share internal/command: the flags -f and -o, the configuration, exit codes, and how results are printed.
//
// One file holds one command, and every command follows the same order. Its newNAME function declares flags, help and
// completion; it reads no file, because muster --help makes every command. Its RunE checks the flags, finds the
// configuration, calls the package, and prints the result as text or, with -o json, as JSON. Results go to standard
// output. Progress, warnings and errors go to standard error, so that programs can read the result.
//
// A command returns an error and never ends the process. [execute] turns the error into the exit code and prints it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules know their zones on every machine

	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

func main() { os.Exit(run()) }

// run runs the command line of this process and returns its exit code. The first interrupt ends the command gracefully,
// the second at once.
func run() int {
	delayFirstGC(os.Getenv)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	// The buffer holds both interrupts: a second one right after the first must not be lost.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		os.Exit(command.ExitFailed)
	}()
	return execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// execute runs one command line and returns its exit code. It is separate from [run] so that tests can call it with
// their own arguments and streams. The error is printed here alone, in the form that the arguments ask for.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot(args)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return command.ExitOK
	}
	coded := command.ExitOf(err)
	command.PrintFailure(errOut, coded, command.WantsJSON(args))
	return coded.Code
}
