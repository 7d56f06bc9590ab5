//go:build unix

package queue

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockDir takes the directory for this process. The lock ends with the
// process, however it ends.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of queue directory %s: %w", dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // for the text only
		f.Close()
		return nil, fmt.Errorf("open queue directory %s: %w by process %s: stop that process or use another directory", dir, ErrLocked, strings.TrimSpace(string(holder)))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock queue directory %s: %w", dir, err)
	}
	return f, nil
}
