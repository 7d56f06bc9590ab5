package powercut

import (
	"fmt"
	"os"
	"strconv"
)

// Cuts returns the number of power cuts that a test makes: [Count] with MUSTER_POWERCUTS.
func Cuts(usual int64) (int64, error) { return Count("MUSTER_POWERCUTS", usual) }

// Count returns how often a test repeats something: the number in the environment variable, or else
// usual. The race detector makes SQLite twenty times slower; with it the usual number is divided by 15.
func Count(variable string, usual int64) (int64, error) {
	text := os.Getenv(variable)
	if text == "" {
		return max(1, usual/slowdown), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("read %s: found %q, want a number of at least 1", variable, text)
	}
	return n, nil
}
