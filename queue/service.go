package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// Options say where queues are kept.
type Options struct {
	// Dir is the directory of queues.db; it is created with mode 0700. One
	// process at a time may have it open.
	Dir string
	// Ephemeral keeps everything in memory instead; Dir must be empty.
	Ephemeral bool
	// MemoryBytes bounds the message contents held in memory. With Dir it is a
	// cache (0 means 64 MiB) and what exceeds it is read from disk; with
	// Ephemeral (0 means 1 GiB) a send beyond it fails with ErrStorageFull.
	MemoryBytes int64
	// Strict refuses, as AWS does, a second purge of a queue and the name of a
	// deleted one for 60 s. A restart forgets these times.
	Strict bool
	// Logger receives what the operator must know; nil discards it.
	Logger *slog.Logger
}

const (
	defaultCacheBytes     = 64 << 20
	defaultEphemeralBytes = 1 << 30
)

// Service is a set of durable queues. All methods are safe for concurrent use.
type Service struct {
	log      *slog.Logger
	strict   bool
	store    machine.Store
	contents machine.Contents
	receipts *receipts
	lock     *os.File // nil when ephemeral
	writer   *writer.Writer
	once     sync.Once
	closeErr error
}

// Open opens the queues kept in a directory, or an empty ephemeral service.
// Errors match ErrLocked, ErrUnsafeDirectory, ErrForeignFile, ErrNewerFile or
// ErrCorruptFile where they apply; in those cases nothing was changed. On a full
// disk it opens, if SQLite has a little room: what needs none can be done then.
func Open(o Options) (*Service, error) {
	if o.Ephemeral != (o.Dir == "") {
		return nil, fmt.Errorf("open queues: exactly one of a directory and ephemeral must be given; found directory "+
			"%q, ephemeral %t", o.Dir, o.Ephemeral)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ephemeral {
		secret := make([]byte, storage.SecretBytes)
		rand.Read(secret) // never fails
		if o.MemoryBytes == 0 {
			o.MemoryBytes = defaultEphemeralBytes
		}
		m := storage.NewMemoryStore(o.MemoryBytes, secret)
		s, err := start(m, m, nil, 0, o.Logger)
		if err == nil {
			s.strict = o.Strict
		}
		return s, err
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = defaultCacheBytes
	}
	if err := durable.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create queue directory: %w", err)
	}
	if err := storage.CheckDir(o.Dir); err != nil {
		return nil, err
	}
	lock, err := storage.LockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	db, err := storage.OpenSQLite(context.Background(), o.Dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	full := db.Epoch != 0 // the writer has it from here on
	s, err := start(db, db, lock, o.MemoryBytes, o.Logger)
	if err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	if full {
		s.writer.SayFull()
	}
	s.strict = o.Strict
	return s, nil
}

// Full says whether the disk had no room for the last thing that was written:
// sends are refused, and deletes too if the room kept for them is gone.
func (s *Service) Full() bool { return s.writer.Full() }

// start loads the state and runs the writer.
func start(st machine.Store, c machine.Contents, lock *os.File, cacheBytes int64, log *slog.Logger) (*Service, error) {
	w, secret, err := writer.New(st, cacheBytes, log)
	if err != nil {
		return nil, err
	}
	return &Service{log: log, store: st, contents: c, lock: lock, writer: w, receipts: newReceipts(secret)}, nil
}

// Close answers what was accepted, writes what is pending and closes the
// store. Calls after it, and receives that wait, fail with ErrClosed.
func (s *Service) Close() error {
	s.once.Do(func() {
		s.writer.Close()
		s.closeErr = s.store.Close()
		if s.lock != nil {
			s.closeErr = errors.Join(s.closeErr, s.lock.Close())
		}
	})
	return s.closeErr
}
