//go:build unix

package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// LockDir locks the directory for this process. The kernel releases the lock when the process ends,
// however it ends.
func LockDir(dir string) (*os.File, error) {
	f, err := openOwn(filepath.Join(dir, "lock"), os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("open the lock of queue directory %s: %w", dir, err)
	}
	// The lock belongs to the open file, so the kernel drops it with the process. A file that merely
	// existed would outlive a crash.
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // only for the error text
		f.Close()
		return nil, fmt.Errorf("open queue directory %s: %w by process %s: stop that process or use another directory",
			dir, ErrLocked, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock queue directory %s: %w", dir, err)
	}
	// The process id is for the error text above. A full disk may have no room for it; the lock holds
	// all the same.
	if n, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0); err == nil {
		f.Truncate(int64(n))
	}
	return f, nil
}

// openOwn opens or creates a small file of the directory. It refuses a link, through which a write
// would reach a file elsewhere. O_NONBLOCK keeps a FIFO in the file's place from blocking the open.
func openOwn(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) {
		return nil, notOwn(path, "a symbolic link")
	}
	if err != nil {
		return nil, err
	}
	stat, err := f.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = notOwn(path, stat.Mode().Type().String())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// notOwn is the refusal of anything but a regular file at path.
func notOwn(path, found string) error {
	return fmt.Errorf("%w: found %s at %s, expected a file of this program; find out who made it, then remove it",
		ErrUnsafeDirectory, found, path)
}

// CheckDir refuses a directory that other users may write to: they could replace its files.
func CheckDir(dir string) error {
	stat, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := stat.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("open queue directory %s: %w: its mode is %04o, so other users may replace "+
			"the queue files; run: chmod go-w %s",
			dir, ErrUnsafeDirectory, mode, dir)
	}
	return nil
}
