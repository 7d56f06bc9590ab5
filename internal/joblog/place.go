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

// Files is the largest number of files of a log, the present one included. FileMegabytes is the size of
// each, in MiB.
const (
	Files         = 8
	FileMegabytes = 8
)

const (
	logName  = "jobs.jsonl"
	lockName = "lock"
	// lockPatience is the longest wait for the lock, which is held for milliseconds.
	lockPatience = 2 * time.Second
)

// place is the directory of a fleet's log.
type place struct{ dir string }

// placeOf returns the place of a fleet's log below dir.
func placeOf(dir, fleet string) place { return place{filepath.Join(dir, fleet)} }

func (p place) path() string { return filepath.Join(p.dir, logName) }

// errLocked says that another process held the lock for too long.
var errLocked = errors.New("another process holds its lock")

// locked runs f under the lock of the directory, which it creates if necessary.
func (p place) locked(f func() error) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(p.dir, lockName), os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	// The wait is bounded: a process that was suspended with the lock must not block the others for ever.
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

// append writes lines, at most maxBatch bytes, and rotates the file when it is full. The rotating
// writer lives for one call: it assumes that no other process writes, which is true only under the
// lock.
func (p place) append(lines []byte) error {
	return p.locked(func() error {
		w := &timberjack.Logger{
			Filename: p.path(), MaxSize: FileMegabytes, MaxBackups: Files - 1, FileMode: 0o600, Compression: "none",
		}
		_, err := w.Write(lines)
		return errors.Join(err, w.Close())
	})
}

// open opens the files of the log, the oldest first; none if there is no log. Under the lock, so that
// no file is renamed meanwhile.
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

// names returns the names of the log's files, the oldest first. The name of a rotated file contains the
// time of its rotation, so names sort by age.
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

// Fleets returns the names of the fleets with a log below dir, sorted.
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

// LastWrite returns when a line was last written to a fleet's log below dir; the zero time if there is no log.
func LastWrite(dir, fleet string) (time.Time, error) {
	info, err := os.Stat(placeOf(dir, fleet).path())
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read the log of fleet %s: %w", fleet, err)
	}
	return info.ModTime().UTC(), nil
}
