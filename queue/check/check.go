// The entry point Files, its options and its result, and opening the files of a directory.

package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// Options say what a check does.
type Options struct {
	// Repair writes new files with everything intact, and keeps the damaged ones in a directory beside
	// them.
	Repair bool
	// At is the present. The name of the directory with the damaged files contains it.
	At time.Time
}

// Result is what a check found.
type Result struct {
	// Dir is the absolute path of the directory.
	Dir string `json:"dir"`
	// Messages is the number of intact messages in all queues.
	Messages int `json:"messages"`
	// Findings say what is wrong with which file; empty if nothing is damaged.
	Findings []Finding `json:"findings"`
	// Damaged are the messages whose content differs from what was sent. At most a thousand are listed.
	Damaged []Message `json:"damaged"`
	// Missing are the ranges in which messages may be missing.
	Missing []Gap `json:"missing"`
	// Lost is the least number of missing messages.
	Lost int `json:"lost"`
	// Kept is the directory with the damaged files after a repair; empty without one.
	Kept string `json:"kept,omitzero"`
}

// Whole says that nothing is damaged.
func (c *Result) Whole() bool { return len(c.Findings) == 0 }

// Finding is a fault of a file.
type Finding struct {
	// File is the name of the file in the directory.
	File string `json:"file"`
	// Found says where the damage is and what follows from it.
	Found string `json:"found"`
}

// Message is a message whose content is damaged.
type Message struct {
	// ID is the id of the message, if it can be read.
	ID string `json:"id,omitzero"`
	// Queue is the name of its queue, Sequence its number in the file.
	Queue    string `json:"queue"`
	Sequence uint64 `json:"sequence"`
	// Sent is the time of sending.
	Sent time.Time `json:"sent"`
}

// Gap is a range of sequence numbers. Every send takes the next number, whatever its queue.
type Gap struct {
	// From and To are the first and last number. Without To the range is open.
	From uint64 `json:"from"`
	To   uint64 `json:"to,omitzero"`
	// After and Before are the times of sending of the messages on either side, if known.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
	// Why names the part that is damaged.
	Why string `json:"why"`
}

// mostNamed bounds the messages, gaps and findings that a result lists.
const mostNamed = 1000

// The files of a queue directory.
const (
	tablesName  = "queues.db"
	tableWAL    = tablesName + "-wal"
	tableShared = tablesName + "-shm"
	tableMark   = tablesName + sqlitefile.MarkSuffix
	logFileName = "queues.log"
)

// Files examines all files of a queue directory, which no service may have open. It changes nothing
// unless o.Repair is set and something is damaged. A repair that was interrupted is finished first.
// Damage is not an error. The error is queue.ErrLocked, that the directory holds no queues, or that it
// cannot be read or written.
func Files(ctx context.Context, dir string, o Options) (*Result, error) {
	dir = storage.Absolute(dir)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("check queue directory: %w", err)
	}
	// A mistyped directory must not pass as one without damage.
	names := []string{tablesName, tableWAL, tableMark, logFileName, storage.RepairedName}
	if !slices.ContainsFunc(names, func(name string) bool { return storage.Exists(filepath.Join(dir, name)) }) {
		return nil, fmt.Errorf("check queue directory %s: it holds no queues; name the data directory of a muster up",
			dir)
	}
	if err := storage.CheckDir(dir); err != nil {
		return nil, err
	}
	lock, err := storage.LockDir(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	kept := ""
	if storage.Exists(filepath.Join(dir, storage.RepairedName)) {
		if !o.Repair {
			return nil, fmt.Errorf("check queue directory %s: %w", dir, storage.RepairCutShort(dir))
		}
		if kept, err = finishRepair(dir, o, nil); err != nil {
			return nil, fmt.Errorf("repair queue directory %s: %w", dir, err)
		}
	}
	x, err := examine(ctx, dir, nil)
	if err != nil {
		return nil, fmt.Errorf("check queue directory %s: %w", dir, err)
	}
	x.result.Kept = kept
	if o.Repair && !x.result.Whole() {
		if err := repair(ctx, x, o); err != nil {
			return x.result, fmt.Errorf("repair queue directory %s: %w", dir, err)
		}
	}
	return x.result, nil
}

// examine reads the files of a locked directory. keep, if not nil, receives every intact message of the
// tables.
func examine(ctx context.Context, dir string, keep func(machine.Row, *machine.Record) error) (*examination, error) {
	// Damage is what is looked for, so ErrCorruptFile is no reason to stop. A foreign or newer file is.
	switch found, err := storage.Inspect(ctx, filepath.Join(dir, tablesName)); {
	case err != nil && !errors.Is(err, storage.ErrCorruptFile):
		return nil, err
	case err == nil && found == storage.Older:
		return nil, errors.New("the file is of an older version, which has no checksums; `muster up` upgrades it")
	}
	f, err := openFiles(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	x := newExamination(f)
	return x, x.run(ctx, keep)
}

// files are the files of a queue directory, as they are on the disk.
type files struct {
	dir       string
	tables    *os.File // nil if missing
	size      int64
	wal, mark []byte // nil if missing
	log       []byte
}

// openFiles reads the small files and opens the tables, which may be larger than memory. A missing file
// is no error here.
func openFiles(dir string) (*files, error) {
	f := &files{dir: dir}
	// These files are bounded: a write-ahead log by the reserve, log and mark by their formats.
	for name, into := range map[string]*[]byte{tableWAL: &f.wal, tableMark: &f.mark, logFileName: &f.log} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		*into = b
	}
	tables, err := os.Open(filepath.Join(dir, tablesName))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	stat, err := tables.Stat()
	if err != nil {
		return nil, errors.Join(err, tables.Close())
	}
	// The tables stay open: pages are read when they are needed.
	f.tables, f.size = tables, stat.Size()
	return f, nil
}

func (f *files) close() {
	if f.tables != nil {
		f.tables.Close()
	}
}

// image returns the pages of the tables with the write-ahead log applied. With all it also applies the
// frames of the log behind a damaged one, which SQLite would ignore.
func (f *files) image(all bool) *sqlitefile.Image {
	if f.tables == nil {
		return sqlitefile.NewImage(bytes.NewReader(nil), 0, f.wal, all)
	}
	return sqlitefile.NewImage(f.tables, f.size, f.wal, all)
}
