// Package function is the Lambda functions of Muster: one program, whose function the environment chooses.
//
//	step            sizes the fleets once, with the history in a table of DynamoDB
//	publish-metric  publishes backlog per worker and the other metrics of the fleets
//	set-target      sets the target of the scaling policies
//	terminate       is the custom termination policy of an Auto Scaling group
//	send            puts test messages into a queue
//	event           steps the fleets that an event concerns
//	hook            answers lifecycle hooks: of deployments of ECS, and of instances of a group
//
// cmd/muster-lambda is this package and nothing else:
//
//	f, err := function.New(ctx, function.Options{})
//	os.Exit(function.Serve(ctx, f, err, os.Stderr))
//
// [New] reads the configuration and opens the fleets, which makes no call. [Function.Invoke] is one invocation: bytes
// in, bytes out. It runs against any implementation of the runtime API, so a test needs no Lambda. [Serve] connects it
// to the runtime API of Lambda, by aws-lambda-go.
//
// An invocation remembers nothing that the next one needs. What is in memory (the state of a fleet's controller, the
// clients) only saves calls: a new environment reads the history instead.
//
// The package is linked with neither SQLite nor the servers of muster up: see package kinds/remote. The decisions are
// those of package controller, the steps those of controller/loop.
package function
