package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/tree"
)

const (
	// fileEvery and tableEvery are the shortest intervals between two readings, whatever the number of fleets. A table
	// costs money by the reading.
	fileEvery  = 500 * time.Millisecond
	tableEvery = 15 * time.Second
	// endedFor is how long an ended tree of a table is not read again. It may be retried, so this is not forever.
	endedFor = 2 * time.Minute
	// settledFor is how old a file's last write must be before its modification time proves that nothing was written
	// since: the clocks of file systems are coarse.
	settledFor = 2 * time.Second
	// maxRunning bounds the running trees that are read; the forecast leaves out the others.
	maxRunning = 1000
)

// treeReader reads the running trees, for all fleets. Several goroutines may use it. One reading serves all fleets:
// with many fleets a table would otherwise be read, and paid, many times.
type treeReader struct {
	// place is the argument of OpenTrees.
	place string
	// reading is a lock that waits no longer than a context.
	reading chan struct{}

	// The reading lock guards the fields below.
	store TreeStore
	file  fs.FileInfo // nil for a table
	// written is the state of the file and its log at the last reading.
	written written
	roots   []tree.Root
	ended   map[string]time.Time
	at      time.Time
	err     error
}

// TreesPlace is where workers and controller find trees.
func TreesPlace(data string) string {
	if place := os.Getenv(TreesVariable); place != "" {
		return place
	}
	return filepath.Join(data, TreesFile)
}

func newTreeReader(place string) *treeReader {
	return &treeReader{place: place, reading: make(chan struct{}, 1), ended: map[string]time.Time{}}
}

// of returns a function that reads the trees whose nodes go to the queues of a fleet.
func (f *treeReader) of(queues []config.QueueRef) func(context.Context) muster.Expected {
	return func(ctx context.Context) muster.Expected {
		select {
		case f.reading <- struct{}{}:
			defer func() { <-f.reading }()
		case <-ctx.Done():
			return muster.Expected{At: time.Now().UTC(), Reason: "reading the trees takes too long"}
		}
		f.refresh(ctx)
		if f.err != nil {
			return muster.Expected{At: f.at, Reason: f.err.Error()}
		}
		// Each fleet gets the trees of its own queues.
		return tree.Expect(f.at, slices.DeleteFunc(slices.Clone(f.roots), func(r tree.Root) bool {
			return !slices.ContainsFunc(queues, func(q config.QueueRef) bool { return goesTo(r.Queue, q) })
		}))
	}
}

// refresh reads the trees again if the last reading is old. The caller holds the reading lock.
func (f *treeReader) refresh(ctx context.Context) {
	every := fileEvery
	if strings.HasPrefix(f.place, TablePrefix) {
		every = tableEvery
	}
	if now := time.Now().UTC(); f.at.IsZero() || now.Sub(f.at) >= every || now.Before(f.at) {
		if !f.unchanged(now) {
			f.roots, f.err = f.read(ctx, now)
		}
		f.at = now
	}
}

// written is when a file and its log were last written, and their sizes in bytes.
type written struct {
	file, log         time.Time
	fileSize, logSize int64
}

// unchanged tells whether the file was not written since the last reading. A file with thousands of ended trees then
// costs nothing.
func (f *treeReader) unchanged(now time.Time) bool {
	var w written
	file, err := os.Stat(f.place)
	if err == nil {
		w.file, w.fileSize = file.ModTime(), file.Size()
	}
	if log, err := os.Stat(f.place + "-wal"); err == nil {
		w.log, w.logSize = log.ModTime(), log.Size()
	}
	same := err == nil && f.err == nil && f.store != nil && os.SameFile(file, f.file) && w == f.written &&
		now.Sub(w.file) > settledFor && now.Sub(w.log) > settledFor
	f.written = w
	return same
}

// goesTo tells whether a fleet's queue is the queue of a tree. An embedded queue is compared by its path, because its
// endpoint may have had another address when the tree was submitted.
func goesTo(treeQueue string, q config.QueueRef) bool {
	if !q.Own() {
		return treeQueue == q.URL
	}
	u, err := url.Parse(treeQueue)
	return err == nil && u.Path == "/000000000000/"+q.Name && !strings.HasSuffix(u.Hostname(), ".amazonaws.com")
}

// read reads the running trees; none when the file does not exist.
func (f *treeReader) read(ctx context.Context, now time.Time) ([]tree.Root, error) {
	if err := f.open(ctx); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	roots, err := f.store.Running(ctx, maxRunning, func(id string) bool { return now.Sub(f.ended[id]) < endedFor })
	if err != nil {
		return nil, err
	}
	for _, r := range roots {
		if r.Ended() {
			f.ended[r.ID] = now
		}
	}
	// Forgotten entries are read once more, so that a retried tree counts again.
	for id, at := range f.ended {
		if now.Sub(at) >= endedFor {
			delete(f.ended, id)
		}
	}
	return roots, nil
}

// open opens the store, unless the open one is still that file.
func (f *treeReader) open(ctx context.Context) error {
	if strings.HasPrefix(f.place, TablePrefix) {
		if f.store != nil {
			return nil
		}
	} else {
		file, err := os.Stat(f.place)
		if err == nil && f.store != nil && os.SameFile(file, f.file) {
			return nil
		}
		f.close() // the file was moved away, and another one may be in its place
		if err != nil {
			return err
		}
		f.file = file
	}
	store, err := OpenTrees(ctx, f.place, false)
	if err != nil {
		return err
	}
	f.store = store
	return nil
}

// close closes the store, if it is open. No reading is under way.
func (f *treeReader) close() error {
	if f.store == nil {
		return nil
	}
	err := f.store.Close()
	f.store, f.file = nil, nil
	if err != nil {
		return fmt.Errorf("close the trees: %w", err)
	}
	return nil
}
