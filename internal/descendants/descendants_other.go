//go:build !linux

package descendants

import "syscall"

// Adopt does nothing: other systems do not let a process adopt orphans below it.
func Adopt() error { return nil }

// Adopts returns false.
func Adopts() bool { return false }

// WithParent does nothing.
func WithParent(*syscall.SysProcAttr) {}

// End does nothing.
func End(string) {}

// EndAll does nothing.
func EndAll() {}

// Zombies has nothing to collect.
type Zombies struct{}

// Collect does nothing.
func (*Zombies) Collect() {}
