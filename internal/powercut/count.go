package powercut

import (
	"fmt"
	"os"
	"strconv"
)

// Cuts returns how many power cuts a test shall make: the number in the environment variable MUSTER_POWERCUTS, or else
// the usual one. The race detector makes SQLite twenty times slower; with it the usual number is a fifteenth.
func Cuts(usual int64) (int64, error) {
	text := os.Getenv("MUSTER_POWERCUTS")
	if text == "" {
		return max(1, usual/slowdown), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("read MUSTER_POWERCUTS: found %q, want the number of power cuts", text)
	}
	return n, nil
}
