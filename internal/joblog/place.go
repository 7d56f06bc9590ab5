package joblog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/DeRuina/timberjack"
)

// Files is how many files a log has at most, the present one included, and FileMegabytes how many MiB each can have.
const (
	Files         = 8
	FileMegabytes = 8
)

const (
	logName  = "jobs.jsonl"
	lockName = "lock"
	// lockPatience is how long the lock is waited for; its holders have it for milliseconds.
	lockPatience = 2 * time.Second
)

// place is the directory of a fleet's log.
type place struct{ dir string }

// placeOf returns the place of the named fleet's log below dir.
func placeOf(dir, fleet string) place { return place{filepath.Join(dir, fleet)} }

func (p place) path() string { return filepath.Join(p.dir, logName) }

// errLocked means that another process has held the lock for too long.
var errLocked = errors.New("another process holds its lock")

// locked does f under the lock of the directory, which it makes if need be.
func (p place) locked(f func() error) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(p.dir, lockName), os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	// Not for ever: a process that was stopped while it held the lock must not stop the others.
	for deadline := time.Now().Add(lockPatience); ; {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return f()
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("lock %s: %w", lock.Name(), err)
		case time.Now().After(deadline):
			return fmt.Errorf("%s: %w", p.dir, errLocked)
		}
		time.Sleep(time.Millisecond)
	}
}

// append writes lines, at most maxBatch bytes of them, and rotates the file when it is full. The writer lives for one
// call: it assumes that no other process writes, which holds while the lock is held.
func (p place) append(lines []byte) error {
	return p.locked(func() error {
		w := &timberjack.Logger{
			Filename: p.path(), MaxSize: FileMegabytes, MaxBackups: Files - 1, FileMode: 0o600, Compression: "none",
		}
		_, err := w.Write(lines)
		return errors.Join(err, w.Close())
	})
}

// open opens the files of the log, the oldest first. It opens none when there is no log.
func (p place) open() (files []*os.File, err error) {
	if _, err := os.Stat(p.dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	err = p.locked(func() error {
		names, err := p.names()
		for _, name := range names {
			f, openErr := os.Open(filepath.Join(p.dir, name))
			if openErr != nil {
				err = openErr
				break
			}
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		closeAll(files)
		return nil, fmt.Errorf("open the log in %s: %w", p.dir, err)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// names returns the names of the log's files, the oldest first: a rotated one has the time of its rotation in its name.
func (p place) names() ([]string, error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	stem, ext, _ := strings.Cut(logName, ".")
	var names []string
	present := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == logName:
			present = true
		case strings.HasPrefix(name, stem+"-") && strings.HasSuffix(name, "."+ext):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if present {
		names = append(names, logName)
	}
	return names, nil
}

// Fleets returns the names of the fleets that have a log below dir, sorted.
func Fleets(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
