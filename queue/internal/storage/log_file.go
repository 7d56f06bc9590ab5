package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// dirLog is the log file in the directory of the queue file.
type dirLog struct{ path string }

// Create creates the file and fills it with zeros. Later writes then need no room and change no
// metadata, so their syncs are cheaper and a full disk cannot stop them.
func (l dirLog) Create(size int64) (oplog.File, error) {
	f, err := openOwn(l.path, os.O_TRUNC|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("create the log of the queue file: %w", err)
	}
	zeros := make([]byte, 1<<16)
	for at := int64(0); err == nil && at < size; at += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at)
	}
	if err == nil {
		err = errors.Join(f.Sync(), durable.SyncDir(filepath.Dir(l.path)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the log of the queue file: %w", err), f.Close(), l.Remove())
	}
	return contentLog{f}, nil
}

// Read returns the content of the file, at most one byte more than a log may have, so that a longer one
// is noticed.
func (l dirLog) Read() ([]byte, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, oplog.MaxBytes+1))
}

// Remove deletes the file. A missing file is no error.
func (l dirLog) Remove() error {
	if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// contentLog syncs only the content of a file. Its size does not change, so its metadata need not reach
// the disk.
type contentLog struct{ *os.File }

// Sync makes the written content durable.
func (l contentLog) Sync() error { return durable.SyncContent(l.File) }
