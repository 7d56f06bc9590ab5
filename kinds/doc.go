// Package kinds is the table of the kinds of fleets, queues and signals that this program has: one row each. Nothing
// else knows all of them, and nothing but a kind's own folder names it.
//
// Use [Load] and [Parse] to read a configuration that may state any of them, and package app to run it:
//
//	c, err := kinds.Load("muster.yaml")
//	if err != nil {
//		return err // every fault of the file, each with its line
//	}
//	a, err := app.Open(ctx, c, app.Options{Logger: slog.Default()})
//
// [LoadPlace] also reads a file that has faults, for commands that only need to find a running Muster.
// [Schema] is the JSON schema for editors. [Table] is the table itself, for what runs, examines or documents every
// kind.
//
// To add a kind, add its row in package kinds/remote and run "go test ./kinds ./internal/arch -update", which writes
// the reference anew. Only what needs the embedded queue or starts processes has its row here, because some programs
// have neither and are not linked with them.
//
// For something else: package kind says what a row must give. A program that wants only some of the kinds makes a
// kind.Table of its own, and reads with config.Load.
package kinds
