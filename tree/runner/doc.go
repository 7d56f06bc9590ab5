// Package runner lets a worker work on the nodes of trees. It recognises the message of a node, keeps the account of
// the node in a [tree.Store], and sends the children that the work names.
//
// A [Runner] stands between worker.Run and the work:
//
//	r, err := runner.New(runner.Options{Store: store, Sender: sender, Do: runner.Command(command)})
//	err = worker.Run(ctx, worker.Options{Queue: queue, Do: r.Do})
//
// The main types:
//
//   - [Runner] takes messages. A message that names no node goes to the work unchanged.
//   - [Node] is the node that a piece of work is for; [Of] finds it in the context. [Node.Name] names children.
//   - [Command] is work that is a program: it prints its children, one JSON object a line.
//   - [Operator] submits, pauses, resumes, retries, cancels and removes whole trees for a person.
//   - [Sender] puts messages into queues; [SQSSender] is the one for Amazon SQS.
//
// The output of a [Command]:
//
//	{"key":"photos/2024"}
//	{"key":"photos/2025","body":"the input of the work on the child"}
//
// The order of actions makes the account exact after a crash anywhere. Children are registered in the store, then sent,
// then the node is finished. Then the nodes that it released are sent and a completion is announced. Only then is the
// message deleted. A message that arrives again repeats what is missing.
//
// The package owns the I/O of trees and no rule: what a step may do is decided by package tree. It knows neither fleets
// nor scaling.
//
// Use package tree/sqlitetree or tree/dynamotree for the store, worker/execution to run programs without trees, and
// app/treetool for the commands of `muster tree`.
package runner
