// Package operations has the commands that instruct a running fleet for a time, muster reserve, pause, resume, limits,
// hold, release and overrides, and muster guard, which asks whether it is quiet.
//
// They are flags and calls. Package app/operate sends the requests to the running muster up and prints the answers;
// docs/overrides.md and docs/deployments.md explain them. Two functions make most of the commands: adding for those
// that add an override of a kind, and listing for those about the present ones.
//
// Every command takes the name of one fleet and reads only where muster up runs, so a fault in the configuration does
// not keep an operator from acting. --plan changes nothing. Exit code 4 of muster guard means busy, 1 that the
// question could not be answered.
//
// Every request that changes something has --plan, which prints what would change, and --reason, which each decision
// repeats. A setting that is not allowed ends with exit code 2 before anything was sent; a request that the running
// program refuses says why in its words.
package operations
