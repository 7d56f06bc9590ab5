package arena

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Claim keeps other runs away from a directory of kept results until the file is closed or the process ends: two runs
// would compute the same results side by side. An empty path claims nothing and returns no file.
func Claim(dir string) (*os.File, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("keep results: %w; give another -cache", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "in-use"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("keep results: %w; give another -cache", err)
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return nil, fmt.Errorf("keep results in %s: another run does so now, and both would compute the same; wait "+
			"until it has ended, or give another -cache", dir)
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("keep results in %s: lock it: %w; give another -cache", dir, err)
	}
	return f, nil
}
