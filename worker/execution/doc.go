// Package execution does the work of a message with a program that is not part of the worker.
//
// There are three ways to start one, and docs/worker-protocol.md specifies what each says:
//
//   - [Command] runs a program for each message. The body is its standard input; its exit status is the result.
//   - [Lines] keeps programs running and gives them messages as JSON lines on standard input. Use it where a start
//     costs much.
//   - [Endpoint] posts messages to a program that serves HTTP on this machine.
//
// Command.Run fits into worker.Options.Do. Lines and Endpoint have DoBatch, and say when they are ready:
//
//	command := execution.Command{Argv: []string{"./resize.sh"}}
//	err := worker.Run(ctx, worker.Options{Queue: queue, Do: command.Run})
//
// A program that fails is an error, as [ExitError] or [AnswerError], with what it printed last; the message is then
// tried again. When the context ends, a command and what it started are asked to end, and are killed five seconds
// later; when the lease is lost, they are killed at once. What a program prints is passed on as [Printed], line by
// line.
//
// [Conformance] checks a program against the protocol, rule by rule, and returns a [Finding] for each: muster work
// --conformance prints them.
//
// The package knows the messages and errors of package worker, and no queue, cloud or controller. For work that is a Go
// function, package worker needs nothing of it; worker/sqsworker starts one with a single call. The nodes of trees are
// package tree/runner.
package execution
