// Package runner lets a worker work on the nodes of trees: it knows a message that names a node from others, keeps the
// account of it in a [tree.Store], and sends the children that the work names.
//
// A [Runner] stands between worker.Run and what does the work:
//
//	r, err := runner.New(runner.Options{Store: store, Sender: sender, Do: runner.Command(command)})
//	err = worker.Run(ctx, worker.Options{Queue: queue, Do: r.Do})
//
// Work in Go names children through [Of]; a [Command] prints them, one JSON object a line:
//
//	{"key":"photos/2024"}
//	{"key":"photos/2025","body":"what the work on the child shall read"}
//
// The order of things is what makes the account exact after a crash anywhere: children are registered, then sent, then
// the node is finished, then what its end set free is sent, then a completion is announced, and only then is the
// message deleted. A message that comes again goes through what is left of that.
package runner
