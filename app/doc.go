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
// The package also has what commands need of a configuration without running it: [Settings] for the controller, [AWS]
// for what is observed and sized there, [OpenTrees] for trees. Use the packages controller, queue or worker alone where
// one part is enough.
package app
