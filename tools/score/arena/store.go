package arena

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

// Store keeps what took long to find in a file, from one time to the next. It may be used by several goroutines, and
// its file by several programs.
type Store[V any] struct {
	path string
	lock sync.Mutex
	kept map[string]V
	// Computed and taken count where the values of this run came from.
	Computed, Taken int
	// unwritten is how many of the computed ones the file does not have.
	unwritten int
}

// OpenStore reads the file at path, if there is one; an empty path keeps nothing.
func OpenStore[V any](path string) (*Store[V], error) {
	f := &Store[V]{path: path, kept: map[string]V{}}
	if path == "" {
		return f, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &f.kept)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was computed before: %w; remove %s or give another -cache", err, path)
	}
	return f, nil
}

// Get returns the value of a key: the kept one, or what compute returns. An error is not kept. Two callers with the
// same new key both compute it.
func (f *Store[V]) Get(key string, compute func() (V, error)) (V, error) {
	f.lock.Lock()
	v, ok := f.kept[key]
	if ok {
		f.Taken++
	}
	f.lock.Unlock()
	if ok {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return v, err
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	f.Computed++
	f.unwritten++
	f.kept[key] = v
	return v, nil
}

// Write writes the computed values to the file, together with those that other programs have written meanwhile. The
// file is replaced as a whole.
func (f *Store[V]) Write() error {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.path == "" || f.unwritten == 0 {
		return nil
	}
	now, err := OpenStore[V](f.path)
	if err != nil {
		return err
	}
	maps.Copy(f.kept, now.kept)
	text, err := json.Marshal(f.kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*")
	if err != nil {
		return err
	}
	_, err = part.Write(text)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), f.path)
	}
	if err != nil {
		os.Remove(part.Name())
		return err
	}
	f.unwritten = 0
	return nil
}
