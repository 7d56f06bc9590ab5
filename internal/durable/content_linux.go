package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncContent brings to the disk what was written into a file whose size does not change. It leaves out the times of
// the file, which cost a write of their own.
func SyncContent(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
