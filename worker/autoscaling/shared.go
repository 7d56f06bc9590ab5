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
	// newPrefix begins the name of a file that is not locked yet. workerPrefix begins the name of a locked file: its
	// worker needs the instance.
	newPrefix    = ".new-"
	workerPrefix = "worker-"
)

// Shared is the hook of one of several workers of an instance. They share a directory: each worker has a file there and
// holds its lock for as long as it needs the instance. The lock of a worker that crashes is gone at once. The last
// worker to finish completes the hook. It implements [worker.Hook]; several goroutines may use it.
type Shared struct {
	hook *Hook
	dir  string

	mu   sync.Mutex
	lock *os.File // nil once the worker has finished
}

// Share registers a worker that needs the instance until it calls Complete or ends in any way. All workers of the
// instance give the same directory, which is created if missing. Call it before the worker watches for notices. If the
// last other worker completes the hook meanwhile, this worker must see the notice and take no message.
func Share(h *Hook, dir string) (*Shared, error) {
	lock, err := join(dir)
	if err != nil {
		return nil, fmt.Errorf("share the lifecycle hook of this instance: %w", err)
	}
	if _, err := others(dir); err != nil { // workers that ended earlier have left files
		return nil, errors.Join(fmt.Errorf("share the lifecycle hook of this instance: tidy up: %w", err), lock.Close())
	}
	return &Shared{hook: h, dir: dir, lock: lock}, nil
}

// join creates a locked file in dir. The file gets its name only once it is locked, so that it is never mistaken for
// that of a crashed worker.
func join(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory that its workers share: %w", err)
	}
	file, err := os.CreateTemp(dir, newPrefix+"*") // no child inherits the descriptor
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

// Complete implements [worker.Hook]. From its first call on, this worker does not need the instance. While other
// workers do, the error matches [worker.ErrOthersWork], and AWS is not called.
func (s *Shared) Complete(ctx context.Context) error {
	if err := s.finish(); err != nil {
		return fmt.Errorf("share the lifecycle hook of this instance: %w", err)
	}
	n, err := others(s.dir)
	switch {
	case err != nil:
		return fmt.Errorf("find the other workers of this instance: %w", err)
	case n > 0:
		return fmt.Errorf("let the instance end: found %d at work in %s: %w", n, s.dir, worker.ErrOthersWork)
	}
	return s.hook.Complete(ctx)
}

// finish releases the lock.
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

// others counts the workers that need the instance, and removes the files of ended ones.
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

// needed tells whether the lock of a file is held. It removes an unlocked file, which will never be locked again.
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
