// Package host tells what a measurement needs to know of the machine it runs on.
package host

import (
	"fmt"
	"os"
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

// OwnTime returns what all threads of this process have used of the processors so far; unlike the time on the clock it
// hardly depends on what else the machine does.
func OwnTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
