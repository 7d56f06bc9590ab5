package autoscaling

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-scale/muster/worker"
)

const (
	// newPrefix is that of a file whose lock is not held yet, workerPrefix that of one whose lock says that a worker
	// needs the instance.
	newPrefix    = ".new-"
	workerPrefix = "worker-"
)

// Shared is the hook of one of several workers of an instance. They meet in a directory: each has a file there and
// holds its lock for as long as it needs the instance, so that a worker that crashes needs it no more, with nobody to
// tell of it. The last one to finish completes the hook. It is a [worker.Hook], and safe for use by several goroutines.
type Shared struct {
	hook *Hook
	dir  string

	mu   sync.Mutex
	lock *os.File // nil once the worker has finished
}

// Share has a worker need the instance until it calls Complete or ends, however it ends. All workers of the instance
// give the same directory, which is made if need be. Call it before the worker looks for notices of an end: one that
// comes while the last of the others completes the hook must see that, and take no message.
func Share(h *Hook, dir string) (*Shared, error) {
	lock, err := join(dir)
	if err != nil {
		return nil, fmt.Errorf("share the lifecycle hook of this instance: %w", err)
	}
	if _, err := others(dir); err != nil { // whoever left while the instance stayed has left a file
		return nil, errors.Join(fmt.Errorf("share the lifecycle hook of this instance: tidy up: %w", err), lock.Close())
	}
	return &Shared{hook: h, dir: dir, lock: lock}, nil
}

// join makes a file with a lock in dir. It has its name only once it is locked, so that nobody takes it for one of a
// crash.
func join(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory where its workers meet: %w", err)
	}
	file, err := os.CreateTemp(dir, newPrefix+"*") // nobody inherits the descriptor
	if err != nil {
		return nil, fmt.Errorf("make a file: %w", err)
	}
	name := filepath.Join(dir, workerPrefix+strings.TrimPrefix(filepath.Base(file.Name()), newPrefix))
	if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = fmt.Errorf("lock %s: %w", file.Name(), err)
	} else {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()), file.Close())
	}
	return file, nil
}

// Extend implements [worker.Hook] as [Hook.Extend] does.
func (s *Shared) Extend(ctx context.Context) (time.Duration, error) { return s.hook.Extend(ctx) }

// Complete implements [worker.Hook]. This worker needs the instance no more from its first call on. While others do,
// its error matches [worker.ErrOthersWork], and nothing of AWS was called.
func (s *Shared) Complete(ctx context.Context) error {
	if err := s.finish(); err != nil {
		return fmt.Errorf("share the lifecycle hook of this instance: %w", err)
	}
	n, err := others(s.dir)
	switch {
	case err != nil:
		return fmt.Errorf("look for the other workers of this instance: %w", err)
	case n > 0:
		return fmt.Errorf("let the instance end: found %d at work in %s: %w", n, s.dir, worker.ErrOthersWork)
	}
	return s.hook.Complete(ctx)
}

// finish gives up the lock.
func (s *Shared) finish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

// others counts the workers that need the instance, and removes the files of those that do no more.
func others(dir string) (n int, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), workerPrefix) {
			continue
		}
		held, err := needed(filepath.Join(dir, f.Name()))
		if err != nil {
			return 0, err
		}
		if held {
			n++
		}
	}
	return n, nil
}

// needed tells whether the lock of a file is held. A file that is not locked is removed: it never will be again.
func needed(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("try the lock of %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}
