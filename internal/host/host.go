// Package host reports facts about the machine that measurements need ([Load], [OwnTime], [Cores], [Suspended]), and
// adapts a program to it ([SparePlace]). [Sleep] is a wait that a context can end. It knows nothing of clouds: the
// placement of a worker is in package worker/placement.
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

// Load returns the mean number of runnable processes over the last minute, or "unknown" if the system
// does not report it.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, ok := strings.Cut(string(text), " ")
	if !ok {
		return "unknown"
	}
	return first
}

// SparePlace lets the runtime run one more goroutine at a time than it would by itself, unless
// GOMAXPROCS is set. Call it in the main function of a program that mostly waits for its disk. Go keeps
// the place of a goroutine that is in a system call, and checks every 20 microseconds whether to take
// it away if no other place is free; that is a sixth of the processor time of a busy queue. It returns
// the number of cores, which [Cores] no longer reports afterwards.
func SparePlace() (cores int) {
	cores = Cores()
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(cores + 1)
	}
	return cores
}

// OwnTime returns the processor time that all threads of this process have used. Unlike elapsed time it
// hardly depends on what else the machine does.
func OwnTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// Sleep waits for d, or until ctx ends, and then returns its error.
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

// Cores returns the number of cores that this process and its children may use; a limit of the
// container counts. After [SparePlace] it is one too many: use what that returned.
func Cores() int { return runtime.GOMAXPROCS(0) }
