//go:build unix

package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// reserveBytes is the size of the reserve. It covers a whole write-ahead log, so that the log can be
// written back on a full disk and its own room be used again.
const reserveBytes = 18 << 20

// reserveName is the name of the reserve's file.
const reserveName = "reserve"

// fileReserve is a reserve in the form of a file, which is removed when its room is needed.
type fileReserve struct {
	path string
	size int64 // in bytes; 0 until it was taken once
}

// leastReserve is the smallest useful reserve, in bytes: SQLite needs that much to open the file.
const leastReserve = 96 << 10

// own refuses anything but a regular file in the reserve's place. Otherwise taking the reserve would
// fail later, and deletes would have no room.
func (f *fileReserve) own() error {
	stat, err := os.Lstat(f.path)
	switch {
	case err != nil:
		return nil // Take creates it, or reports the error
	case stat.Mode()&fs.ModeSymlink != 0:
		return notOwn(f.path, "a symbolic link")
	case !stat.Mode().IsRegular():
		return notOwn(f.path, stat.Mode().Type().String())
	}
	return nil
}

// Take creates or enlarges the file. On a small disk it is small: a quarter of the room that is free or
// used by the directory, so that it does not shrink when the queue grows and is opened again. A file
// that stayed small on a full disk grows when there is room.
func (f *fileReserve) Take() error {
	old := int64(0)
	if stat, err := os.Lstat(f.path); err == nil {
		old = stat.Size()
	}
	file, err := openOwn(f.path, os.O_WRONLY)
	if err != nil {
		return fmt.Errorf("reserve room for deletes: %w", err)
	}
	err = f.fill(file, old)
	if err = errors.Join(err, file.Close()); err != nil && old == 0 {
		return errors.Join(fmt.Errorf("reserve room for deletes: %w", err), f.Give())
	}
	if err != nil {
		f.size = old // the old file remains, and is better than none
	}
	return nil
}

// fill sets the size of the file. A file of at least half the wanted size stays as it is. A quarter of
// the size must remain free, so that the reserve itself does not fill the disk.
func (f *fileReserve) fill(file *os.File, old int64) error {
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &disk); err != nil {
		return err
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	want := min(reserveBytes, (free+f.beside())/4)
	if old >= want/2 && old > 0 {
		f.size = old
		return nil
	}
	f.size = max(f.size, want)
	if free < f.size-old+f.size/4 {
		return fmt.Errorf("%d bytes are free, %d are needed", free, f.size-old+f.size/4)
	}
	return writeZeros(file, old, f.size)
}

// writeZeros writes zeros from one offset to another. It writes blocks because a sparse file would
// reserve nothing.
func writeZeros(file *os.File, from, to int64) error {
	zeros := make([]byte, 1<<16)
	for from < to {
		n, err := file.WriteAt(zeros[:min(to-from, int64(len(zeros)))], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// Keep is Take, except that on a nearly full disk it takes three quarters of what is free.
func (f *fileReserve) Keep() {
	if f.Take() == nil {
		return
	}
	var disk unix.Statfs_t
	if unix.Statfs(filepath.Dir(f.path), &disk) != nil {
		return
	}
	// A quarter stays free, because other programs need some room too.
	size := min(reserveBytes, int64(disk.Bavail)*int64(disk.Bsize)/4*3)
	if size < leastReserve {
		return
	}
	file, err := openOwn(f.path, os.O_WRONLY)
	if err != nil {
		return
	}
	if errors.Join(writeZeros(file, 0, size), file.Close()) != nil {
		f.Give()
	}
}

// beside returns the total size of the files in the directory. Files that cannot be read are left out.
func (f *fileReserve) beside() (sum int64) {
	files, _ := os.ReadDir(filepath.Dir(f.path))
	for _, file := range files {
		if info, err := file.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// Give removes the file.
func (f *fileReserve) Give() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("free the room reserved for deletes: %w", err)
	}
	return nil
}
