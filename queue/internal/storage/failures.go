package storage

import (
	"errors"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// The kinds of failures; package queue exports them under the same names.
var (
	// ErrStorage says that writing to disk failed. The outcome of the calls in
	// progress is unknown, no later write is accepted, and a restart is needed.
	ErrStorage = errors.New("queue storage failed")
	// ErrStorageFull says that there is no room for the operations. Nothing was changed; deleting
	// messages or freeing disk space helps.
	ErrStorageFull = errors.New("queue storage is full")
	// ErrStorageBusy says that another program kept the queue file locked for
	// seconds. Nothing was changed; the call may be repeated.
	ErrStorageBusy = errors.New("queue storage is locked by another program")
	// ErrLocked says that another process has the directory open.
	ErrLocked = errors.New("queue directory is in use")
	// ErrUnsafeDirectory says that users other than the owner may change the directory, or that one of
	// its files is a link.
	ErrUnsafeDirectory = errors.New("queue directory is not safe")
	// ErrForeignFile says that the file is not a queue file of this product.
	ErrForeignFile = errors.New("not a muster queue file")
	// ErrNewerFile says that a newer version of this product wrote the file.
	ErrNewerFile = errors.New("queue file is newer than this program")
	// ErrCorruptFile says that the file is damaged.
	ErrCorruptFile = machine.ErrCorrupt
)
