package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// stand is a store that outlives its services.
type stand interface {
	// open starts a service on what is kept.
	open(ctx context.Context) (*Service, error)
	// shut ends the service; after cut, what is kept is what the cut left.
	shut() error
}

// memoryStand keeps everything in memory.
type memoryStand struct {
	store   *storage.MemoryStore
	service *Service
}

func (m *memoryStand) open(context.Context) (s *Service, err error) {
	m.service, err = start(m.store, m.store, nil, 0, slog.New(slog.DiscardHandler))
	return m.service, err
}

func (m *memoryStand) shut() error { return m.service.Close() }

// diskStand keeps everything on a disk that may lose its power.
type diskStand struct {
	*site
	disk *powercut.Disk
	left *powercut.Disk // by a cut
}

func (d *diskStand) open(ctx context.Context) (s *Service, err error) {
	if d.site, err = openSite(ctx, d.disk, 10); err != nil {
		return nil, err
	}
	return d.service, nil
}

func (d *diskStand) shut() error {
	err := d.site.close() // the power may be cut during that, too
	d.disk.Before(nil)
	if d.left != nil {
		d.disk, d.left = d.left, nil
	}
	return err
}

// arm lets the power be cut at the n-th change of the disk.
func (d *diskStand) arm(l *logbook, n int64, seed uint64) {
	var seen atomic.Int64
	d.disk.Before(func(powercut.Op) error {
		if seen.Add(1) == n {
			l.cut(func() { d.left = d.disk.Cut(seed) })
		}
		return nil
	})
}

// play runs clients on a stand, through restarts and power cuts, and at last
// receives whatever is left.
func play(ctx context.Context, st stand, seed uint64, plant func(service) service) (*logbook, error) {
	l, chance := newLogbook(), rand.New(rand.NewPCG(seed, 0))
	for life := range 3 {
		s, err := st.open(ctx)
		if err != nil {
			return l, err
		}
		if life == 0 {
			if err := s.CreateQueue(ctx, "side", nil, nil); err != nil {
				return l, err
			}
		}
		disk, fragile := st.(*diskStand)
		if fragile && life < 2 {
			disk.arm(l, 1+chance.Int64N(150), seed)
		}
		calls, e := serviceOf(s), newErrands(s)
		carried := e.service()
		if plant != nil {
			calls, carried = plant(calls), plant(carried)
		}
		var wg sync.WaitGroup
		for i := range 4 {
			v := &visitor{l, []service{calls, carried}[i%2], ctx, life*10 + i,
				rand.New(rand.NewPCG(seed, uint64(life*10+i+1)))}
			wg.Go(func() { v.visit(8) })
		}
		wg.Wait()
		if life == 2 {
			v := &visitor{l, calls, ctx, 99, chance}
			for range 4 { // the second time shows what the first one should have received
				v.take(0, 0)
				time.Sleep(6 * time.Second)
			}
		}
		e.end()
		if err := st.shut(); err != nil {
			return l, err
		}
		l.live()
	}
	return l, errors.Join(l.wrong...)
}

// wealth is what histories were made of.
type wealth struct {
	calls     int // about single messages
	crossed   int // while others called, or were answered
	redeliver int // receives of what had been received before
	cuts      int // of the power, as seen by single messages
}

func (w *wealth) add(operations []porcupine.Operation) {
	for _, o := range operations {
		w.calls++
		if o.Return > o.Call+1 {
			w.crossed++
		}
		if o.Input.(asked).kind == aReceive && o.Output.(told).count > 1 {
			w.redeliver++
		}
		if o.Input.(asked).kind == aCut {
			w.cuts++
		}
	}
}

// verdictOf is what the checker says of a played history: an error names a
// message that breaks the contract. A picture of it is written to dir.
func verdictOf(l *logbook, dir string) (w wealth, err error) {
	model := contract()
	for n, operations := range l.of {
		w.add(operations)
		result, told := porcupine.CheckOperationsVerbose(model, operations, time.Minute)
		if result == porcupine.Ok {
			continue
		}
		slices.SortFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		var list strings.Builder
		for _, o := range operations {
			fmt.Fprintf(&list, "\n%d-%d %s", o.Call, o.Return, model.DescribeOperation(o.Input, o.Output))
		}
		err = fmt.Errorf("message %d: %d calls, the contract: %s%s", n, len(operations), result, &list)
		if dir != "" {
			path := filepath.Join(dir, "message-"+strconv.Itoa(n)+".html")
			err = errors.Join(err, porcupine.VisualizePath(model, told, path))
		}
		return w, err
	}
	return w, nil
}

// staged plays one history in a bubble, where time is exact and costs nothing.
func staged(t *testing.T, seed uint64, st stand, plant func(service) service) (l *logbook, err error) {
	synctest.Test(t, func(t *testing.T) { l, err = play(t.Context(), st, seed, plant) })
	return l, err
}

func newMemoryStand() *memoryStand {
	return &memoryStand{store: storage.NewMemoryStore(1<<30, make([]byte, storage.SecretBytes))}
}

// TestConcurrentCallsKeepTheContractOfEachMessage plays histories of clients
// that send, receive, prolong and delete at the same time, with each other's
// receipts, old and new, and through restarts.
func TestConcurrentCallsKeepTheContractOfEachMessage(t *testing.T) {
	wanted, err := powercut.Count("MUSTER_HISTORIES", 300)
	if err != nil {
		t.Fatal(err)
	}
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, stage := range map[string]func() stand{
		"in memory":                 func() stand { return newMemoryStand() },
		"on a disk with power cuts": func() stand { return &diskStand{disk: base.Cut(0)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sum wealth
			for seed := range uint64(wanted) {
				l, err := staged(t, seed, stage(), nil)
				if err != nil {
					t.Fatalf("history %d: %v", seed, err)
				}
				w, err := verdictOf(l, t.ArtifactDir())
				if err != nil {
					t.Fatalf("history %d: %v; a picture is in %s (run with -artifacts to keep it)", seed, err,
						t.ArtifactDir())
				}
				sum = wealth{sum.calls + w.calls, sum.crossed + w.crossed, sum.redeliver + w.redeliver,
					sum.cuts + w.cuts}
			}
			if _, fragile := stage().(*diskStand); sum.crossed == 0 || sum.redeliver == 0 || fragile && sum.cuts == 0 {
				t.Errorf("too little happened: %+v", sum)
			}
			t.Logf("%d histories: %+v", wanted, sum)
		})
	}
}

// A receive that is not answered yet may have taken a message, and leaves it out when it is deleted meanwhile. Who
// found it gone in between missed nothing.
func TestAMissBehindAnOpenReceiveIsNoFault(t *testing.T) {
	for _, row := range []struct {
		name string
		open bool
		left int
	}{{"another receive is under way", true, 0}, {"none is", false, 1}} {
		l := newLogbook()
		if row.open {
			l.ask(1, asked{kind: aReceive})
		}
		q := l.ask(2, asked{kind: aReceive})
		l.hear(q, func(now int64) { l.doubt(9, q, asked{kind: aMiss}, told{}, now) })
		l.ask(3, asked{kind: aDelete}, 9)
		if got := len(l.doubts[9]); got != row.left {
			t.Errorf("%s: %d misses are left, want %d", row.name, got, row.left)
		}
	}
}

// TestTheCheckerFindsFaults proves the test above: each of these services
// breaks the contract now and then, and must be found out.
func TestTheCheckerFindsFaults(t *testing.T) {
	sometimes := func(seed uint64) func() bool {
		var mu sync.Mutex
		chance := rand.New(rand.NewPCG(seed, 77))
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return chance.IntN(8) == 0
		}
	}
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		plant func(s service, now func() bool) service
		disk  func(*powercut.Disk)
	}{
		{name: "hands a message out twice", plant: func(s service, now func() bool) service {
			receive, mu, last := s.receive, sync.Mutex{}, []Message(nil)
			s.receive = func(ctx context.Context, name string, o ReceiveOptions) ([]Message, error) {
				got, err := receive(ctx, name, o)
				mu.Lock()
				defer mu.Unlock()
				if len(got) == 0 && len(last) > 0 && now() {
					return last, err
				}
				last = got
				return got, err
			}
			return s
		}},
		{name: "hands a message out to the next one too", plant: func(s service, now func() bool) service {
			receive, change := s.receive, s.change
			s.receive = func(ctx context.Context, name string, o ReceiveOptions) ([]Message, error) {
				got, err := receive(ctx, name, o)
				if len(got) > 0 && now() {
					change(ctx, name, []VisibilityChange{{Receipt: got[0].Receipt}})
				}
				return got, err
			}
			return s
		}},
		{name: "forgets a delete", plant: func(s service, now func() bool) service {
			remove := s.remove
			s.remove = func(ctx context.Context, name string, receipts []string) []error {
				if now() {
					return make([]error, len(receipts))
				}
				return remove(ctx, name, receipts)
			}
			return s
		}},
		{name: "forgets a send", plant: func(s service, now func() bool) service {
			send := s.send
			s.send = func(ctx context.Context, name string, out []Outgoing) ([]Sent, error) {
				if now() {
					return make([]Sent, len(out)), nil
				}
				return send(ctx, name, out)
			}
			return s
		}},
		{name: "forgets a change", plant: func(s service, now func() bool) service {
			change := s.change
			s.change = func(ctx context.Context, name string, changes []VisibilityChange) []error {
				if now() {
					return make([]error, len(changes))
				}
				return change(ctx, name, changes)
			}
			return s
		}},
		{name: "ends leases early", plant: leases(func(d time.Duration) time.Duration { return d - time.Millisecond })},
		{name: "ends leases late", plant: leases(func(d time.Duration) time.Duration { return d + time.Millisecond })},
		{name: "deletes with old receipts", plant: func(s service, now func() bool) service {
			receive, remove, mu, newest := s.receive, s.remove, sync.Mutex{}, map[string]string{}
			bodies := map[string]string{}
			s.receive = func(ctx context.Context, name string, o ReceiveOptions) ([]Message, error) {
				got, err := receive(ctx, name, o)
				mu.Lock()
				defer mu.Unlock()
				for _, m := range got {
					bodies[m.Receipt], newest[m.Body] = m.Body, m.Receipt
				}
				return got, err
			}
			s.remove = func(ctx context.Context, name string, receipts []string) []error {
				mu.Lock()
				if now := newest[bodies[receipts[0]]]; now != "" {
					receipts = []string{now}
				}
				mu.Unlock()
				return remove(ctx, name, receipts)
			}
			return s
		}},
		{name: "answers before the disk has it", disk: (*powercut.Disk).IgnoreSync},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) {
				var st stand = newMemoryStand()
				if row.disk != nil {
					d := base.Cut(0)
					row.disk(d)
					st = &diskStand{disk: d}
				}
				var plant func(service) service
				if row.plant != nil {
					plant = func(s service) service { return row.plant(s, sometimes(seed)) }
				}
				l, err := staged(t, seed, st, plant)
				if err == nil {
					_, err = verdictOf(l, "")
				}
				if err != nil {
					what, _, _ := strings.Cut(err.Error(), "\n")
					t.Logf("found in history %d: %s", seed, what)
					return
				}
			}
			t.Error("not found in 200 histories")
		})
	}
}

// leases makes a service that lets leases last for another time.
func leases(other func(time.Duration) time.Duration) func(service, func() bool) service {
	return func(s service, now func() bool) service {
		receive := s.receive
		s.receive = func(ctx context.Context, name string, o ReceiveOptions) ([]Message, error) {
			if now() {
				lease := other(*o.Visibility)
				o.Visibility = &lease
			}
			return receive(ctx, name, o)
		}
		return s
	}
}
