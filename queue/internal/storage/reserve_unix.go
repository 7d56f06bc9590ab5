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

// reserveBytes is the room on the disk kept for deletes. It covers a whole
// write-ahead log, so that the log can be written back on a full disk and its
// own room be used again.
const reserveBytes = 18 << 20

// reserveName is the name of its file.
const reserveName = "reserve"

// fileReserve is a reserve in the form of a file that is removed when its room
// is needed.
type fileReserve struct {
	path string
	size int64 // 0 until it was taken once
}

// leastReserve is what is worth keeping: SQLite needs so much to open the file.
const leastReserve = 96 << 10

// own refuses what is no file in the reserve's place. Taking the reserve would only fail, and the deletes have no room
// then.
func (f *fileReserve) own() error {
	stat, err := os.Lstat(f.path)
	switch {
	case err != nil:
		return nil // it is made, or said to be missing, when it is taken
	case stat.Mode()&fs.ModeSymlink != 0:
		return notOwn(f.path, "a symbolic link")
	case !stat.Mode().IsRegular():
		return notOwn(f.path, stat.Mode().Type().String())
	}
	return nil
}

// Take makes the file. A small disk gets a small one: a quarter of what is free
// or taken by the queue, so that it is no smaller when the queue is opened again.
// One that became small on a full disk grows when there is room.
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
		f.size = old // what there was is enough
	}
	return nil
}

// fill makes the file as large as it should be.
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

// Keep takes three quarters of what is free, up to what a reserve has.
func (f *fileReserve) Keep() {
	if f.Take() == nil {
		return
	}
	var disk unix.Statfs_t
	if unix.Statfs(filepath.Dir(f.path), &disk) != nil {
		return
	}
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

// Give removes the file.
func (f *fileReserve) Give() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("free the room reserved for deletes: %w", err)
	}
	return nil
}
