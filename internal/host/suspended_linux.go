package host

import (
	"time"

	"golang.org/x/sys/unix"
)

// together is how close two readings of a clock must be, so that what is read between them was read at the same time.
const together = time.Millisecond

// Suspended returns how long the machine has been suspended since it started, to a millisecond. The clock of
// [time.Since] does not count that time; elapsed time that others rely on is the sum of both.
func Suspended() time.Duration {
	for {
		// A process that is paused between two readings must not take its own pause for one of the machine.
		before := clock(unix.CLOCK_MONOTONIC)
		boot := clock(unix.CLOCK_BOOTTIME)
		if after := clock(unix.CLOCK_MONOTONIC); after-before < together {
			return max(0, boot-after)
		}
	}
}

// clock reads a clock that every kernel since 2011 has. Zero, for a kernel without it, means that nothing was
// suspended.
func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
