// Package console prints the events of a running Muster to a terminal, as muster up does: the addresses at the start,
// decisions, changes of members, failures, and the busy workers at the end.
//
// It prints what changes. A decision that sets a desired count is printed always, a hold only when its reason is new,
// and failures at most once a minute for each fleet, with their number. Steady operation prints nothing, so that a
// terminal shows the last events even after days.
//
// [Console.Outcome] is called by the loops of all fleets, from several goroutines, while a step is under way: it must
// not block for long. Logs for machines go to the logger of package app, which is what runs.
package console
