package queue

import (
	"errors"
	"io/fs"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// The names of the log and of the mark on the disk.
const (
	logName  = "queues.log"
	markName = queueFile + sqlitefile.MarkSuffix
)

// diskLog is a log on a disk that may lose its power.
type diskLog struct{ *powercut.Disk }

// logOn returns a log of the given size that is used from the second
// transaction on; one that is too small is only read.
func logOn(d *powercut.Disk, size int64) *oplog.Log {
	return &oplog.Log{Place: diskLog{d}, Size: size, After: 1}
}

func (l diskLog) Create(size int64) (oplog.File, error) {
	if err := l.Remove(); err != nil {
		return nil, err
	}
	err := l.Disk.Create(logName)
	if err == nil {
		err = errors.Join(l.Append(logName, make([]byte, size)), l.SyncFile(logName))
	}
	if err != nil {
		return nil, errors.Join(err, l.Remove())
	}
	l.SyncDirectory()
	return powercut.Named{Disk: l.Disk, Name: logName}, nil
}

func (l diskLog) Read() ([]byte, error) { return l.Disk.Read(logName) }

func (l diskLog) Remove() error {
	if err := l.Disk.Remove(logName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
