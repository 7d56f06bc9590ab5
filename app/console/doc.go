// Package console says on a terminal what a running Muster does, one line an event, as muster up does: where everything
// is at the start, decisions and what becomes of members, what fails, and who is busy at the end. What runs is package
// app.
package console
