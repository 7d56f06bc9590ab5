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
	// Repair makes new files of what is whole, and keeps the damaged ones beside them.
	Repair bool
	// At is the present; the directory with the damaged files has it in its name.
	At time.Time
}

// Result is what a check found.
type Result struct {
	// Dir is the directory.
	Dir string `json:"dir"`
	// Messages counts the messages that are whole, of all queues.
	Messages int `json:"messages"`
	// Findings say what is wrong with which file; empty when all is well.
	Findings []Finding `json:"findings"`
	// Damaged are messages that are there, with a content that is not what was sent. At most a thousand are named.
	Damaged []Message `json:"damaged"`
	// Missing are the gaps in which messages may have been that are not there any more.
	Missing []Gap `json:"missing"`
	// Lost is how many messages are missing at least.
	Lost int `json:"lost"`
	// Kept is the directory that a repair left the damaged files in; empty without one.
	Kept string `json:"kept,omitzero"`
}

// Whole says that nothing is damaged.
func (c *Result) Whole() bool { return len(c.Findings) == 0 }

// Finding is something wrong with a file.
type Finding struct {
	// File is the name of the file, below the directory.
	File string `json:"file"`
	// Found says where the damage is, and what follows from it.
	Found string `json:"found"`
}

// Message is a message that a check names.
type Message struct {
	// ID is its id, as far as it can be read.
	ID string `json:"id,omitzero"`
	// Queue is the name of its queue, and Sequence its number there.
	Queue    string `json:"queue"`
	Sequence uint64 `json:"sequence"`
	// Sent is when it was sent.
	Sent time.Time `json:"sent"`
}

// Gap is a range of sequence numbers. Each send takes the next number, of whatever queue.
type Gap struct {
	// From and To are the first and the last number; no To means that it is open.
	From uint64 `json:"from"`
	To   uint64 `json:"to,omitzero"`
	// After and Before are when the messages beside it were sent, as far as that is known.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
	// Why says what was there.
	Why string `json:"why"`
}

// mostNamed bounds the messages and gaps that a result names.
const mostNamed = 1000

// The files of a queue directory.
const (
	tablesName  = "queues.db"
	tableWAL    = tablesName + "-wal"
	tableShared = tablesName + "-shm"
	tableMark   = tablesName + sqlitefile.MarkSuffix
	logFileName = "queues.log"
)

// Files reads all files of a queue directory, which no service may have open, and says what is damaged and what is
// missing because of that. It changes nothing, unless it shall repair what is damaged. The error is queue.ErrLocked,
// that of a directory without queues, or that of one that cannot be read or written; damage is no error.
func Files(ctx context.Context, dir string, o Options) (*Result, error) {
	dir = storage.Absolute(dir)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("check queue directory: %w", err)
	}
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

// examine reads the files of a directory that is locked.
func examine(ctx context.Context, dir string, keep func(machine.Row, *machine.Record) error) (*examination, error) {
	switch found, err := storage.Inspect(ctx, filepath.Join(dir, tablesName)); {
	case err != nil && !errors.Is(err, storage.ErrCorruptFile):
		return nil, err
	case err == nil && found == storage.Older:
		return nil, errors.New("the file is of an older version, which has no checksums; `muster up` brings it forward")
	}
	f, err := openFiles(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	x := newExamination(f)
	return x, x.run(ctx, keep)
}

// files are those of a queue directory, as they are.
type files struct {
	dir       string
	tables    *os.File // nil if there is none
	size      int64
	wal, mark []byte // nil if there is none
	log       []byte
}

func openFiles(dir string) (*files, error) {
	f := &files{dir: dir}
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
	f.tables, f.size = tables, stat.Size()
	return f, nil
}

func (f *files) close() {
	if f.tables != nil {
		f.tables.Close()
	}
}

// image returns the pages; with all, those behind a damaged frame of the write-ahead log too.
func (f *files) image(all bool) *sqlitefile.Image {
	if f.tables == nil {
		return sqlitefile.NewImage(bytes.NewReader(nil), 0, f.wal, all)
	}
	return sqlitefile.NewImage(f.tables, f.size, f.wal, all)
}
