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

// Options say where queues are kept and how strict the service is.
type Options struct {
	// Dir is the directory of queues.db; it is created with mode 0700. Only one process at a time may
	// have it open.
	Dir string
	// Ephemeral keeps all queues in memory instead. Dir must be empty then.
	Ephemeral bool
	// MemoryBytes bounds the message contents in memory. With Dir it is the size of the cache (0 means
	// 64 MiB); other contents are read from disk. With Ephemeral (0 means 1 GiB) a send beyond it fails
	// with ErrStorageFull.
	MemoryBytes int64
	// Strict makes the service refuse for 60 s, as AWS does, a second purge of a queue and the name of
	// a deleted queue. A restart forgets these times.
	Strict bool
	// Logger receives faults that an operator must know of; nil discards them.
	Logger *slog.Logger
}

// The defaults of Options.MemoryBytes.
const (
	defaultCacheBytes     = 64 << 20
	defaultEphemeralBytes = 1 << 30
)

// Service is a set of durable queues. All methods are safe for concurrent use.
type Service struct {
	log    *slog.Logger
	strict bool
	// store is written by the writer alone; contents are read by every caller.
	store    machine.Store
	contents machine.Contents
	receipts *receipts
	lock     *os.File // nil when ephemeral
	writer   *writer.Writer
	// once guards Close, and closeErr is its result for later calls.
	once     sync.Once
	closeErr error
}

// Open opens the queues of a directory, or an empty ephemeral service. Errors match ErrLocked,
// ErrUnsafeDirectory, ErrForeignFile, ErrNewerFile or ErrCorruptFile where they apply; in those cases
// nothing was changed. On a full disk it opens if SQLite still has a little room. Calls that need no
// room then work, such as deletes.
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
		rand.Read(secret) // never returns an error
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
	full := db.Epoch != 0 // read now: from start on, db belongs to the writer
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

// Full says whether the disk had no room for the last write. Sends are then refused, and deletes too if
// the reserve is used up.
func (s *Service) Full() bool { return s.writer.Full() }

// start loads the state and starts the writer. cacheBytes is the size of the content cache.
func start(st machine.Store, c machine.Contents, lock *os.File, cacheBytes int64, log *slog.Logger) (*Service, error) {
	w, secret, err := writer.New(st, cacheBytes, log)
	if err != nil {
		return nil, err
	}
	return &Service{log: log, store: st, contents: c, lock: lock, writer: w, receipts: newReceipts(secret)}, nil
}

// Close answers the accepted requests, writes what is pending and closes the store. Later calls and
// waiting receives fail with ErrClosed.
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
