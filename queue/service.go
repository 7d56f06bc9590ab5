package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
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
	started  time.Time

	// turning is held by who is the writer at a moment: its goroutine, or a courier that commits at once. It
	// guards writer.
	turning sync.Mutex
	writer  *writer
	lone    atomic.Int32 // how many groups of one request were quickly committed, one after the other

	requests chan command
	closing  chan struct{}
	rearm    chan struct{} // something is due earlier than the writer thinks
	done     chan struct{} // the writer has ended
	once     sync.Once
	closeErr error
	short    atomic.Bool // the storage is full, and that was said

	mu    sync.Mutex // guards what follows; never held during a commit
	st    *machine.State
	last  int64 // time never goes back
	cache *cache
	desks map[*machine.Queue]*desk
	wakes map[string][]chan struct{}
	// ringing are the couriers that have something to deliver and were not yet told.
	ringing []*Courier

	broken  error // the log can no longer be written
	wakeAt  int64 // no queue has anything due earlier
	flushAt int64 // when pending rows must be written; never if there are none
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
		s.sayFull()
	}
	s.strict = o.Strict
	return s, nil
}

// Full says whether the disk had no room for the last thing that was written:
// sends are refused, and deletes too if the room kept for them is gone.
func (s *Service) Full() bool { return s.short.Load() }

func (s *Service) sayFull() {
	if !s.short.Swap(true) {
		s.log.Error("queue storage is full: sends are refused until there is room; delete messages, purge queues or " +
			"free disk space")
	}
}

// requestBuffer is how many requests may wait while a group is committed.
const requestBuffer = 1024

// start loads the state and runs the writer.
func start(st machine.Store, c machine.Contents, lock *os.File, cacheBytes int64, log *slog.Logger) (*Service, error) {
	s := &Service{
		log: log, store: st, contents: c, lock: lock, started: time.Now(),
		requests: make(chan command, requestBuffer),
		closing:  make(chan struct{}),
		rearm:    make(chan struct{}, 1),
		flushAt:  machine.Never,
		done:     make(chan struct{}),
		cache:    newCache(cacheBytes),
		desks:    map[*machine.Queue]*desk{},
		wakes:    map[string][]chan struct{}{},
	}
	loaded, secret, err := machine.Load(st, s.now(), rules.ParseSettings)
	if err != nil {
		return nil, err
	}
	s.st, s.receipts = loaded, newReceipts(secret)
	s.writer = newWriter(s)
	go s.writer.run()
	return s, nil
}

// Close answers what was accepted, writes what is pending and closes the
// store. Calls after it, and receives that wait, fail with ErrClosed.
func (s *Service) Close() error {
	s.once.Do(func() {
		close(s.closing)
		<-s.done
		s.dismiss()
		s.closeErr = s.store.Close()
		if s.lock != nil {
			s.closeErr = errors.Join(s.closeErr, s.lock.Close())
		}
	})
	return s.closeErr
}

// now is the present in Unix milliseconds. It follows the monotonic clock, so
// that setting the wall clock moves no deadline.
func (s *Service) now() int64 {
	return s.started.Add(time.Since(s.started)).UnixMilli()
}

// tick is the present for the state; s.mu must be held.
func (s *Service) tick() int64 {
	s.last = max(s.last, s.now())
	return s.last
}

// alive says whether requests are still taken.
func (s *Service) alive() error {
	select {
	case <-s.closing:
		return ErrClosed
	default:
		return nil
	}
}

// submit hands a request to the writer.
func (s *Service) submit(ctx context.Context, c command) error {
	if err := s.alive(); err != nil {
		return err
	}
	select {
	case s.requests <- c:
		return nil
	case <-s.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do hands a request to the writer and waits for its answer. If ctx ends
// first, the outcome of the request is unknown.
func (s *Service) do(ctx context.Context, c command, answer reply) error {
	if err := s.submit(ctx, c); err != nil {
		return err
	}
	select {
	case err := <-answer.waiting:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the outcome is unknown: %w", ctx.Err())
	case <-s.done:
		return answer.final()
	}
}

// cache holds contents of messages up to a budget. What does not fit is left
// out: the oldest, which are received next, are the ones that stay.
type cache struct {
	budget, used int64
	records      map[uint64]*machine.Record
}

func newCache(budget int64) *cache {
	return &cache{budget: budget, records: map[uint64]*machine.Record{}}
}

func (c *cache) put(seq uint64, r *machine.Record) {
	if c.used+r.Size() <= c.budget {
		c.records[seq] = r
		c.used += r.Size()
	}
}

func (c *cache) remove(seq uint64) *machine.Record {
	r := c.records[seq]
	if r != nil {
		delete(c.records, seq)
		c.used -= r.Size()
	}
	return r
}

// follow does to the cache what a commit did to the store.
func (c *cache) follow(ops []machine.Op) {
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case machine.OpInsert:
			c.put(o.Row.Seq, o.Record)
		case machine.OpRemove:
			c.remove(o.Seq)
		case machine.OpMove:
			if r := c.remove(o.Seq); r != nil {
				moved := *r
				moved.Source = o.Source
				c.put(o.Row.Seq, &moved)
			}
		}
	}
}
