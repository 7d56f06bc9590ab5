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

// LockDir takes the directory for this process. The lock ends with the
// process, however it ends.
func LockDir(dir string) (*os.File, error) {
	f, err := openOwn(filepath.Join(dir, "lock"), os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("open the lock of queue directory %s: %w", dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // for the text only
		f.Close()
		return nil, fmt.Errorf("open queue directory %s: %w by process %s: stop that process or use another directory",
			dir, ErrLocked, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock queue directory %s: %w", dir, err)
	}
	// The number is for the text above; a full disk may have no room for it.
	if n, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0); err == nil {
		f.Truncate(int64(n))
	}
	return f, nil
}

// openOwn opens, or makes, a small file of the directory. A link in its place is refused: what is written would go
// where it leads.
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

func notOwn(path, found string) error {
	return fmt.Errorf("%w: found %s at %s, allowed is a file of this program; look at who made it, then remove it",
		ErrUnsafeDirectory, found, path)
}

// CheckDir refuses a directory that others may write to: they could put files of their own in the place of these.
func CheckDir(dir string) error {
	stat, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := stat.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("open queue directory %s: %w: its mode is %04o, so others may put files of their own in "+
			"the place of the queues; run: chmod go-w %s",
			dir, ErrUnsafeDirectory, mode, dir)
	}
	return nil
}
