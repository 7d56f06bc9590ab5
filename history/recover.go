package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// OpenRecovered opens the history at path as [Open] does, and also continues after damage: a lost history costs only
// learned durations and past decisions, while a controller that does not start costs messages. It moves the files of a
// damaged history into a directory next to it, whose name contains now, and creates a new one. It uses a file whose
// last records may be missing as it is. found says what was found and done; nil means no damage. A damaged file without
// a mark may belong to another program, so it is refused and not moved.
func OpenRecovered(path string, o Options, now time.Time) (h *History, found, err error) {
	if path, o, err = checkOptions(path, o); err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	h, err = open(ctx, path, o)
	if errors.Is(err, errIncomplete) {
		found = fmt.Errorf("the history %s may lack its last records and continues without them: %w", path, err)
		// An empty mark accepts the tables as they are; see openMark.
		if err = os.WriteFile(path+sqlitefile.MarkSuffix, nil, 0o600); err == nil {
			h, err = open(ctx, path, o)
		}
	}
	if _, none := os.Lstat(path + sqlitefile.MarkSuffix); none == nil && isDamaged(err) {
		cause := err
		kept, err := setAside(path, now)
		if err != nil {
			return nil, nil, errors.Join(explain(path, "open", cause), err)
		}
		found = fmt.Errorf("the history is damaged and begins anew, its files are in %s: %w", kept, cause)
		h, err = open(ctx, path, o)
		return h, found, opened(path, err)
	}
	return h, found, opened(path, err)
}

// opened explains why a history could not be opened.
func opened(path string, err error) error {
	if err == nil {
		return nil
	}
	return explain(path, "open", err)
}

// isDamaged tells whether err means that the content of a file is damaged.
func isDamaged(err error) bool {
	switch sqlitefile.Primary(err) {
	case sqlitefile.CodeCorrupt, sqlitefile.CodeNotADB:
		return true
	}
	return errors.Is(err, errDamaged)
}

// setAside moves all files of a history into a new directory next to it, and returns the directory. Its name has the
// time in milliseconds, so that a second damage does not overwrite the files of the first.
func setAside(path string, now time.Time) (kept string, err error) {
	kept = path + "-damaged-" + now.UTC().Format("20060102T150405.000Z")
	if err := durable.MkdirAll(kept, 0o700); err != nil {
		return "", fmt.Errorf("set the damaged history aside: %w", err)
	}
	// The main file goes last: the side files of a damaged one must not meet a new one.
	for _, suffix := range []string{"-shm", "-journal", "-wal", sqlitefile.MarkSuffix, ""} {
		err := os.Rename(path+suffix, filepath.Join(kept, filepath.Base(path)+suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("set the damaged history aside: %w", err)
		}
	}
	return kept, errors.Join(durable.SyncDir(kept), durable.SyncDir(filepath.Dir(path)))
}
