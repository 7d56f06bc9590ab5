//go:build !linux

package usage

import (
	"runtime"
	"time"
)

// read tells nothing: other systems have no /proc.
func read(int) (cpu time.Duration, peakBytes int64, ok bool) { return 0, 0, false }

// Machine returns how many cores this process and its children may use. Its memory is unknown.
func Machine() (cores float64, memoryBytes int64) { return float64(runtime.GOMAXPROCS(0)), 0 }
