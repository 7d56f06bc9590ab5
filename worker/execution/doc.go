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
// A program that fails is an error, as [ExitError] or [AnswerError], with the end of its output; the message is then
// tried again. Each line of output is passed on as a [Printed].
//
// The context of a call says when the work must stop, and its cause says how:
//
//	worker.ErrLeaseLost   another worker may have the message: the program and all it started are killed at once
//	any other cause       SIGTERM to its process group, and SIGKILL five seconds later
//
// The package keeps these invariants:
//
//   - No process of a [Command] outlives its call, except one that leaves its process group where the system cannot
//     track it. Otherwise two workers would work on one message.
//   - Nothing of a message becomes part of a command line, and there is no shell.
//   - A program that breaks the protocol is killed, because its later answers could belong to any message.
//   - worker.ErrNotBegun is returned only when the program certainly got nothing of the message, so that the attempt
//     does not count.
//   - No error text and no log line repeats a message's body; the output of the program itself may.
//
// [Conformance] checks a program against the protocol, rule by rule, and returns a [Finding] for each: muster work
// --conformance prints them.
//
// The package knows the messages and errors of package worker, and no queue, cloud or controller. For work that is a Go
// function, package worker needs nothing of it; worker/sqsworker starts one with a single call. The nodes of trees are
// package tree/runner.
package execution
