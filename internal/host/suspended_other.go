//go:build !linux

package host

import "time"

// Suspended returns 0: how long the machine has been suspended is read on Linux alone.
func Suspended() time.Duration { return 0 }
