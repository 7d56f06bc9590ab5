package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncContent makes durable what was written to a file whose size does not change. It skips the times
// of the file, which would cost another write.
func SyncContent(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
