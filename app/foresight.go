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
	// fileEvery and tableEvery are how often trees are read at most, whatever the number of fleets. A table is paid for
	// by the reading.
	fileEvery  = 500 * time.Millisecond
	tableEvery = 15 * time.Second
	// endedFor is how long a tree of a table that has ended is not read again: it may be retried.
	endedFor = 2 * time.Minute
	// settledFor is how long ago a file must have been written last for its time to tell that nothing was written
	// since: file systems tell times apart by some milliseconds only.
	settledFor = 2 * time.Second
	// maxRunning bounds the running trees that are read; those beyond it are not foreseen.
	maxRunning = 1000
)

// foresight reads the trees that run, for all fleets. It is safe for use by several goroutines.
type foresight struct {
	// place is what OpenTrees opens.
	place string
	// reading is held by the one who reads.
	reading chan struct{}

	// The fields below belong to whoever holds reading.
	store TreeStore
	file  fs.FileInfo // nil for a table
	// written is when the file and its log were written last, and how large they were.
	written written
	roots   []tree.Root
	ended   map[string]time.Time
	at      time.Time
	err     error
}

// TreesPlace is where the workers of this configuration find trees, and so does muster up.
func TreesPlace(data string) string {
	if place := os.Getenv(TreesVariable); place != "" {
		return place
	}
	return filepath.Join(data, TreesFile)
}

func newForesight(place string) *foresight {
	return &foresight{place: place, reading: make(chan struct{}, 1), ended: map[string]time.Time{}}
}

// of returns what reads the trees whose nodes go to the queues of a fleet.
func (f *foresight) of(queues []config.QueueRef) func(context.Context) muster.Expected {
	return func(ctx context.Context) muster.Expected {
		select {
		case f.reading <- struct{}{}:
			defer func() { <-f.reading }()
		case <-ctx.Done():
			return muster.Expected{At: time.Now().UTC(), Reason: "reading the trees takes too long"}
		}
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
		if f.err != nil {
			return muster.Expected{At: f.at, Reason: f.err.Error()}
		}
		return tree.Expect(f.at, slices.DeleteFunc(slices.Clone(f.roots), func(r tree.Root) bool {
			return !slices.ContainsFunc(queues, func(q config.QueueRef) bool { return goesTo(r.Queue, q) })
		}))
	}
}

// written tells when a file and its log were last written, and their sizes.
type written struct {
	file, log         time.Time
	fileSize, logSize int64
}

// unchanged tells whether nothing was written to the file since it was last read, so that one with thousands of trees
// costs nothing while none runs.
func (f *foresight) unchanged(now time.Time) bool {
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

// goesTo tells whether a tree's queue is one that a fleet serves. The embedded queue is known by its path, because it
// may have listened elsewhere when the tree was submitted.
func goesTo(treeQueue string, q config.QueueRef) bool {
	if !q.Own() {
		return treeQueue == q.URL
	}
	u, err := url.Parse(treeQueue)
	return err == nil && u.Path == "/000000000000/"+q.Name && !strings.HasSuffix(u.Hostname(), ".amazonaws.com")
}

// read reads the trees that run. A file that is not there has none.
func (f *foresight) read(ctx context.Context, now time.Time) ([]tree.Root, error) {
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
	for id, at := range f.ended {
		if now.Sub(at) >= endedFor {
			delete(f.ended, id)
		}
	}
	return roots, nil
}

// open opens the store, unless it is open and the same file as before.
func (f *foresight) open(ctx context.Context) error {
	if strings.HasPrefix(f.place, TablePrefix) {
		if f.store != nil {
			return nil
		}
	} else {
		file, err := os.Stat(f.place)
		if err == nil && f.store != nil && os.SameFile(file, f.file) {
			return nil
		}
		f.close() // it was moved away, and perhaps another one is in its place
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

// close closes the store, if it is open. Nobody may read any more.
func (f *foresight) close() error {
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
