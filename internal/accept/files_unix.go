//go:build unix

package accept

import "golang.org/x/sys/unix"

// OpenFiles returns the number of files that this process may open.
func OpenFiles() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return most
	}
	return uint64(r.Cur)
}
