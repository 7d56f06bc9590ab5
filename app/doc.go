// Package app is a running Muster made from a configuration: what muster up runs, and what a program of your own runs
// that has Muster inside.
//
//	c, err := kinds.Load("muster.yaml")
//	...
//	a, err := app.Open(ctx, c, app.Options{Logger: slog.Default()})
//	...
//	defer a.Close()
//	err = a.Run(ctx) // until ctx ends; workers then finish what they hold
//
// [Open] opens the data directory, the embedded queue and the ports; [App.Run] serves them and sizes the fleets;
// [App.Reload] puts another configuration in force meanwhile, and a file named by [Options].Watch is read again when it
// changes. A fleet that cannot be opened does not keep the others from running: it is tried again, and the API tells
// why.
//
// Workers on this machine are processes of the program muster. A program of another name says with [Options].Program
// where that is.
//
// The package also has what commands need of a configuration without running it: [Settings] makes those of the
// controller, [World] tells the simulator about a fleet, [OpenTrees] opens the trees, [Reports] the table of stored
// reports. One function makes each, so that production, the simulator and the commands cannot disagree.
//
// For something else: use the packages controller, queue or worker alone where one part is enough. The subpackages are
// what the commands do beside a running Muster: app/client reaches one, app/status, app/explain and app/plan say what
// it does, app/doctor finds out what a configuration needs, app/work is a worker.
package app
