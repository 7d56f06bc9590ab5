// Package console prints the events of a running Muster to a terminal, as muster up does: the addresses at the start,
// decisions, changes of members, failures, and the workers that are busy at the end. Package app is what runs.
package console
