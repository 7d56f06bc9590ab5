//go:build race

package roster_test

// slowdown is about how much longer what only computes takes under the race detector.
const slowdown = 10
