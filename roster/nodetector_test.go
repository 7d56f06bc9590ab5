//go:build !race

package roster_test

const slowdown = 1
