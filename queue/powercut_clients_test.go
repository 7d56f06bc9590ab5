package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// site is a service on a disk that will lose its power, with its clients.
type site struct {
	disk    *powercut.Disk
	db      *storage.SqliteStore
	service *Service
	ledger  *ledger
	// failures counts, on a disk with faults, the answers that said so; nil is
	// a disk that must not fail.
	failures *atomic.Int64
}

// ordered is a FIFO queue in which each client has a group of its own.
const ordered = "ordered.fifo"

// queueFile is the name of the file on the disk.
const queueFile = "queues.db"

// makeDisk returns a disk with a new queue file, made with the steps of create.
func makeDisk(ctx context.Context) (*powercut.Disk, error) {
	d := powercut.New()
	if err := createOn(ctx, d); err != nil {
		return nil, err
	}
	s, err := openSite(ctx, d, 1000)
	if err != nil {
		return nil, err
	}
	for name, attributes := range map[string]map[string]string{
		"dead": nil, "side": nil, ordered: {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
	} {
		err = errors.Join(err, s.service.CreateQueue(ctx, name, attributes, nil))
	}
	err = errors.Join(err, s.service.CreateQueue(ctx, "q", map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:local:000000000000:dead","maxReceiveCount":3}`}, nil))
	return d, errors.Join(err, s.close())
}

// openSite starts a service on d. The smaller checkpoint is, in pages, the more
// often the log is written back.
func openSite(ctx context.Context, d *powercut.Disk, checkpoint int) (*site, error) {
	name, err := d.Mount()
	if err != nil {
		return nil, err
	}
	db, err := storage.OpenFile(ctx, queueFile, name, logOn(d, int64(checkpoint)<<10),
		powercut.Named{Disk: d, Name: markName}, false)
	if err != nil {
		return nil, errors.Join(err, d.Unmount())
	}
	db.Most = checkpoint
	s, err := start(db, db, nil, 3000, slog.New(slog.DiscardHandler))
	if err == nil {
		return &site{disk: d, db: db, service: s, ledger: newLedger()}, nil
	}
	return nil, errors.Join(err, db.Close(), d.Unmount())
}

func (s *site) close() error {
	return errors.Join(s.service.Close(), s.disk.Unmount())
}

// run lets clients do random things until each did so many.
func (s *site) run(ctx context.Context, seed uint64, clients, steps int) error {
	errs := make([]error, clients)
	var wg sync.WaitGroup
	e := newErrands(s.service)
	defer e.end()
	for i := range clients {
		c := &client{site: s, calls: []service{serviceOf(s.service), e.service()}[i%2], ctx: ctx,
			name: fmt.Sprintf("c%d-%d", seed, i), chance: rand.New(rand.NewPCG(seed, uint64(i)))}
		wg.Go(func() {
			for range steps {
				err := c.step()
				if s.failures != nil && (errors.Is(err, ErrStorage) || errors.Is(err, ErrStorageFull)) {
					s.failures.Add(1)
				} else if errs[i] = err; err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// client uses the service and writes down what it is answered.
type client struct {
	*site
	calls  service
	ctx    context.Context
	name   string
	chance *rand.Rand
	held   []holding
	made   int
}

// holding is a received message.
type holding struct {
	queue   string
	receipt string
	number  int
	count   uint32
}

func (c *client) step() error {
	switch n := c.chance.IntN(100); {
	case n < 40:
		return c.send()
	case n < 65:
		return c.receive()
	case n < 85:
		return c.remove()
	case n < 95:
		return c.change()
	case n < 97:
		return c.purge()
	default:
		return c.queues()
	}
}

func (c *client) send() error {
	name := []string{"q", "q", "side", ordered}[c.chance.IntN(4)]
	sizes := make([]int, 1+c.chance.IntN(3))
	for i := range sizes {
		sizes[i] = c.chance.IntN(600)
		if c.chance.IntN(40) == 0 {
			sizes[i] = 4000 + c.chance.IntN(16_000)
		}
	}
	var delay time.Duration
	if name != ordered && c.chance.IntN(4) == 0 {
		delay = time.Duration(c.chance.IntN(20)) * time.Millisecond
	}
	numbers := c.ledger.sending(name, sizes, c.service.writer.Now()+delay.Milliseconds())
	out := make([]Outgoing, len(numbers))
	for i, n := range numbers {
		out[i] = Outgoing{Body: c.ledger.body(n), Delay: &delay, Attributes: attributesOf(n)}
		if name == ordered {
			out[i].GroupID = c.name
		}
	}
	sent, err := c.calls.send(c.ctx, name, out)
	if err != nil {
		return err
	}
	for i, n := range numbers {
		if sent[i].Err != nil {
			return sent[i].Err
		}
		c.ledger.note(func(f *fact) { f.acked, f.id = true, sent[i].ID }, n)
	}
	return nil
}

// lease is a random time for which a message is held.
func (c *client) lease() time.Duration {
	if c.chance.IntN(3) == 0 {
		return time.Hour
	}
	return time.Duration(1+c.chance.IntN(20)) * time.Millisecond
}

func (c *client) receive() error {
	name := []string{"q", "q", "side", "dead", ordered}[c.chance.IntN(5)]
	lease, began, turn := c.lease(), c.service.writer.Now(), c.ledger.turn()
	got, err := c.calls.receive(c.ctx, name, ReceiveOptions{Max: 1 + c.chance.IntN(MaxBatch), Visibility: &lease})
	if err != nil {
		return err
	}
	for _, m := range got {
		n, err := number(m.Body)
		if err != nil {
			return err
		}
		count := uint32(m.ReceiveCount)
		c.held = append(c.held, holding{name, m.Receipt, n, count})
		c.ledger.note(func(f *fact) {
			// A first receive may be written later, and any receipt may have changed the lease meanwhile.
			if count > max(1, f.received) && f.changing == 0 && f.turn <= turn {
				f.notBefore = began + lease.Milliseconds()
			}
			f.received = max(f.received, count)
		}, n)
	}
	return nil
}

// pick takes up to limit held messages of one queue out of what is held.
func (c *client) pick(limit int) []holding {
	if len(c.held) == 0 {
		return nil
	}
	first := c.held[c.chance.IntN(len(c.held))]
	var picked []holding
	c.held = slices.DeleteFunc(c.held, func(h holding) bool {
		if h.queue != first.queue || len(picked) == limit {
			return false
		}
		picked = append(picked, h)
		return true
	})
	return picked
}

func (c *client) remove() error {
	picked := c.pick(1 + c.chance.IntN(4))
	if len(picked) == 0 {
		return nil
	}
	var receipts []string
	for _, h := range picked {
		receipts = append(receipts, h.receipt)
		c.ledger.note(func(f *fact) { f.removing = true }, h.number)
	}
	for i, err := range c.calls.remove(c.ctx, picked[0].queue, receipts) {
		h := picked[i]
		if h.queue == ordered && errors.Is(err, ErrInvalidParameter) {
			continue // a FIFO queue refuses outdated receipts
		}
		if err != nil {
			return err
		}
		c.ledger.note(func(f *fact) {
			if h.queue == f.queue { // and not the dead-letter queue
				f.deleted = max(f.deleted, h.count)
			}
		}, h.number)
	}
	return nil
}

func (c *client) change() error {
	picked := c.pick(1)
	if len(picked) == 0 {
		return nil
	}
	h, timeout := picked[0], c.lease()
	if c.chance.IntN(3) == 0 {
		timeout = 0
	}
	began := c.service.writer.Now()
	turn := c.ledger.change(h.number, 1)
	err := c.calls.change(c.ctx, h.queue, []VisibilityChange{{Receipt: h.receipt, Timeout: timeout}})[0]
	c.ledger.change(h.number, -1)
	c.ledger.note(func(f *fact) {
		if err == nil && f.received == h.count && f.changes == turn && f.changing == 0 {
			f.notBefore = began + timeout.Milliseconds()
		}
	}, h.number)
	if errors.Is(err, ErrInvalidParameter) {
		return nil // another client moved or deleted it
	}
	if err != nil {
		return err
	}
	c.held = append(c.held, h)
	return nil
}

func (c *client) purge() error {
	done := c.ledger.purge()
	if err := c.service.Purge(c.ctx, "side"); err != nil {
		return err
	}
	done()
	return nil
}

// queues makes a queue, or deletes the one it made last.
func (c *client) queues() error {
	name := fmt.Sprint(c.name, "-", c.made)
	if c.made > 0 && c.chance.IntN(2) == 0 {
		c.ledger.noteQueue(name, func(q *queueFact) { q.removing = true })
		err := c.service.DeleteQueue(c.ctx, name)
		if errors.Is(err, ErrQueueNotFound) {
			return nil // it was deleted before
		}
		if err == nil {
			c.ledger.noteQueue(name, func(q *queueFact) { q.removed = true })
		}
		return err
	}
	c.made++
	name = fmt.Sprint(c.name, "-", c.made)
	err := c.service.CreateQueue(c.ctx, name, map[string]string{"VisibilityTimeout": "7"},
		map[string]string{"of": c.name})
	if err == nil {
		c.ledger.noteQueue(name, func(q *queueFact) { q.created = true })
	}
	return err
}
