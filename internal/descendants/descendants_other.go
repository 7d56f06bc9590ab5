//go:build !linux

package descendants

import "syscall"

// Adopt does nothing: no other system that Muster runs on lets a process become the parent of those that are left
// behind.
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
