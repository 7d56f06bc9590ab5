// Package operations has the commands that instruct a running fleet for a time, muster reserve, pause, resume, limits,
// hold and overrides, and muster guard, which asks whether it is quiet. They are flags and calls: package app/operate
// does the work, and docs/overrides.md and docs/deployments.md explain it.
package operations
