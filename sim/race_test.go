//go:build race

package sim

// slowdown is about how much longer what only computes takes under the race detector.
const slowdown = 10
