//go:build unix

package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// reserveBytes is the room on the disk kept for deletes. It covers a whole
// write-ahead log, so that the log can be written back on a full disk and its
// own room be used again.
const reserveBytes = 18 << 20

// fileReserve is a reserve in the form of a file that is removed when its room
// is needed.
type fileReserve struct {
	path string
	size int64 // 0 until it was taken once
}

// take makes the file. A small disk gets a small one: a quarter of what is free
// or taken by the queue, so that it is no smaller when the queue is opened again.
func (f *fileReserve) take() error {
	if old, err := os.Stat(f.path); err == nil && old.Size() > 0 {
		f.size = old.Size()
		return nil
	}
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("reserve room for deletes: %w", err)
	}
	err = f.fill(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("reserve room for deletes: %w", err), f.give())
	}
	return nil
}

func (f *fileReserve) fill(file *os.File) error {
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &disk); err != nil {
		return err
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	if f.size == 0 {
		f.size = min(reserveBytes, (free+f.beside())/4)
	}
	if free < f.size+f.size/4 {
		return fmt.Errorf("%d bytes are free, %d are needed", free, f.size+f.size/4)
	}
	zeros := make([]byte, 1<<16)
	for left := f.size; left > 0; {
		n, err := file.Write(zeros[:min(left, int64(len(zeros)))])
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

// beside is the size of the files in the directory; what cannot be read is
// left out.
func (f *fileReserve) beside() (sum int64) {
	files, _ := os.ReadDir(filepath.Dir(f.path))
	for _, file := range files {
		if info, err := file.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// give removes the file.
func (f *fileReserve) give() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("free the room reserved for deletes: %w", err)
	}
	return nil
}
