package main

import (
	"runtime/debug"
	"time"
)

const (
	// startPercent is the GC percent of the first moments: a heap below 4 MB x startPercent / 100 = 16 MB is not
	// collected.
	startPercent = 400
	// startLasts is how long these moments are.
	startLasts = time.Second
)

// collectLater puts the first garbage collections off until the start is over. What packages make when they are
// initialized comes close to the 4 MB at which the Go runtime collects for the first time. That collection finds next
// to nothing, takes half of all the processor time of a start, and comes right when a worker that somebody waits for is
// to receive its first message. A heap of more than 16 MB is collected as ever. With GOGC or GOMEMLIMIT in the
// environment the user has decided, and nothing is done.
func collectLater(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	usual := debug.SetGCPercent(startPercent)
	time.AfterFunc(startLasts, func() { debug.SetGCPercent(usual) })
}
