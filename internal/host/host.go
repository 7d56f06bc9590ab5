// Package host tells what a measurement needs to know of the machine it runs on, and fits a program to it.
package host

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Load returns the mean number of runnable processes over the past minute, or "unknown" where the system does not say.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, ok := strings.Cut(string(text), " ")
	if !ok {
		return "unknown"
	}
	return first
}

// SparePlace lets one goroutine more run at a time than the runtime does by itself, unless the environment says how
// many; it is for the main function of a program that waits for its disk most of the time. Go leaves a goroutine that
// does so its place and watches it, every 20 microseconds if nobody else has one to spare: that is a sixth of the
// processor time of a busy queue. It returns how many cores there are, which [Cores] no longer tells afterwards.
func SparePlace() (cores int) {
	cores = Cores()
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(cores + 1)
	}
	return cores
}

// OwnTime returns what all threads of this process have used of the processors so far; unlike the time on the clock it
// hardly depends on what else the machine does.
func OwnTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// Sleep waits for so long, or until ctx ends, and then returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Cores is how many cores this process and those that it starts may use; a limit of their container counts. It is one
// too many after [SparePlace], which returns the right number.
func Cores() int { return runtime.GOMAXPROCS(0) }
