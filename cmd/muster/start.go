package main

import (
	"runtime/debug"
	"time"
)

const (
	// startPercent is the GC percent during the start: a heap below 4 MB x startPercent / 100 = 16 MB is not collected.
	startPercent = 400
	// startDuration is how long the start lasts.
	startDuration = time.Second
)

// delayFirstGC delays the first garbage collections until the start is over. The initialization of packages allocates
// almost the 4 MB at which Go collects for the first time. That collection frees next to nothing, takes half of the
// processor time of a start, and comes just when a new worker is to receive its first message. A heap above 16 MB is
// collected as usual. If GOGC or GOMEMLIMIT is set, the user has decided, and delayFirstGC does nothing.
func delayFirstGC(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	usual := debug.SetGCPercent(startPercent)
	time.AfterFunc(startDuration, func() { debug.SetGCPercent(usual) })
}
