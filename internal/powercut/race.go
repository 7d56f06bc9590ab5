//go:build race

package powercut

const slowdown = 15
