// Package app is a running Muster made from a configuration. muster up runs it; a program of your own can too:
//
//	c, err := kinds.Load("muster.yaml")
//	...
//	a, err := app.Open(ctx, c, app.Options{Logger: slog.Default()})
//	...
//	defer a.Close()
//	err = a.Run(ctx) // until ctx ends; workers then finish their messages in progress
//
// [Open] opens the data directory, the embedded queue and the ports. [App.Run] serves them and sizes the fleets.
// [App.Reload] applies another configuration to the running App; a file named by [Options].Watch is reloaded when it
// changes. Inside, the parts stand in this order, and stop in the reverse one:
//
//	data directory    queues, keys, token, history        data.go
//	servers           SQS endpoint, HTTP API              serve.go
//	fleets            one life cycle and loop each        fleets.go, fleet.go
//	workers           processes of local fleets           local.go
//
// A fleet that cannot be opened does not keep the others from running: it is opened again later, and the API reports
// why it failed. A damaged history does not keep Muster from running either: a new one replaces it.
//
// Workers on this machine are processes of the program muster. An embedding program sets its path in [Options].Program.
//
// The package also has what commands need of a configuration without running it. [Settings] makes the settings of the
// controller, [OpenTrees] opens the trees. Production, the simulator and the commands call the same functions, so they
// cannot disagree. Package app/turns lets several controllers take turns.
//
// The package must not know any kind of fleet or queue: it takes them from the table in package kinds. It decides
// nothing: package controller does.
//
// Use the packages controller, queue or worker alone where one part is enough. The subpackages are what the commands do
// with a running Muster: app/client reaches one, app/status, app/explain and app/plan describe it, app/doctor checks a
// configuration, app/work is a worker.
package app
