package queue

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncContent leaves out the times of the file, which cost a write of their own.
func syncContent(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
