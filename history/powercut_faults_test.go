package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/powercut"
)

// The texts that say what a person can do.
const (
	saysBroken = "the disk failed, nothing was acknowledged; read the system's log"
	saysFull   = "the disk has no room or the file has reached its bound, nothing was written; free the disk"
)

// fault makes the calls of a disk fail from the given one on.
type fault struct {
	op           powercut.Op // 0 is reading
	err          error
	at, length   int
	seen, failed int
}

// plant gives the fault to a disk that one goroutine uses.
func (f *fault) plant(d *powercut.Disk) {
	next := func() error {
		if f.seen++; f.seen < f.at || f.seen >= f.at+f.length {
			return nil
		}
		f.failed++
		return f.err
	}
	if f.op == 0 {
		d.BeforeRead(next)
		return
	}
	d.Before(func(op powercut.Op) error {
		if op != f.op {
			return nil
		}
		return next()
	})
}

// heal takes all faults away.
func heal(d *powercut.Disk) {
	d.Before(nil)
	d.BeforeRead(nil)
}

// blank is a disk with an empty file.
func blank(t *testing.T) *powercut.Disk {
	t.Helper()
	d := powercut.New()
	if err := makeBlank(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// crashed is a disk with the history of a first life, whose log is still to be written back.
func crashed(t *testing.T) (*powercut.Disk, *journal) {
	t.Helper()
	d, j := blank(t), &journal{epochs: map[string]int64{}}
	vfs, err := d.Mount()
	if err != nil {
		t.Fatal(err)
	}
	h, err := openOn(t.Context(), d, vfs)
	if err != nil {
		t.Fatal(err)
	}
	err = (&writer{h, j, rand.New(rand.NewPCG(1, 1))}).run(t.Context(), "a", 20)
	after := d.Cut(0)
	if err := errors.Join(err, h.Close(), d.Unmount()); err != nil {
		t.Fatal(err)
	}
	return after, j
}

// TestAFaultAtAnyCallLosesNothing makes the reads, writes, syncs and truncations of a history fail, one after the
// other, looks at what is answered, and opens the file again: after a restart, and after a power cut.
func TestAFaultAtAnyCallLosesNothing(t *testing.T) {
	wanted, err := powercut.Cuts(100) // fewer under the race detector
	if err != nil {
		t.Fatal(err)
	}
	base, first := crashed(t)
	for _, row := range []struct {
		name   string
		op     powercut.Op
		calls  int // of a history, about
		err    error
		length int // calls that fail
		says   string
		kind   error
		ends   bool // nothing is accepted any more
	}{
		{name: "a read that fails", calls: 60, err: powercut.ErrIO, length: 1, says: saysBroken},
		{name: "a write that fails", op: powercut.Write, calls: 250, err: powercut.ErrIO, length: 1, says: saysBroken},
		{name: "a sync that fails ends the writing", op: powercut.Sync, calls: 60, err: powercut.ErrIO, length: 1,
			says: saysBroken, ends: true},
		{name: "a disk that is full for one write", op: powercut.Write, calls: 250, err: powercut.ErrNoSpace, length: 1,
			says: saysFull, kind: ErrFull},
		{name: "a disk that is full for a while", op: powercut.Write, calls: 250, err: powercut.ErrNoSpace, length: 20,
			says: saysFull, kind: ErrFull},
		{name: "a disk that has no room for what is synced ends it too", op: powercut.Sync, calls: 60,
			err: powercut.ErrNoSpace, length: 1, says: saysBroken, ends: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			said, step := 0, max(1, row.calls/int(min(wanted, int64(row.calls))))
			for n := 1; n <= row.calls; n += step {
				life := life{j: first.view(), disk: base.Cut(0),
					fault: fault{op: row.op, err: row.err, at: n, length: row.length}, says: row.says, kind: row.kind,
					ends: row.ends}
				if err := life.run(t.Context()); err != nil {
					t.Errorf("fault at call %d: %v", n, err)
				}
				if life.said > 0 {
					said++
				}
			}
			if said == 0 {
				t.Error("no fault was ever answered")
			}
			t.Logf("of the faults at %d calls, %d were answered with an error", (row.calls+step-1)/step, said)
		})
	}
}

// life is one run of a writer on a disk with a fault.
type life struct {
	j     *journal
	disk  *powercut.Disk
	fault fault
	says  string
	kind  error
	ends  bool
	said  int // answers that told of the fault
}

// run writes until the fault was met, then goes on for a while, and at last looks at what the disk holds.
func (l *life) run(ctx context.Context) (err error) {
	vfs, err := l.disk.Mount()
	if err != nil {
		return err
	}
	h, err := openOn(ctx, l.disk, vfs)
	if err != nil {
		return errors.Join(err, l.disk.Unmount())
	}
	if _, err := h.writer.Exec("PRAGMA wal_autocheckpoint = 10"); err != nil {
		return err
	}
	if _, err := h.writer.Exec("PRAGMA cache_size = 5"); err != nil { // pages, so that more is read
		return err
	}
	l.fault.plant(l.disk)
	w := &writer{h, l.j, rand.New(rand.NewPCG(uint64(l.fault.at), 7))}
	err = l.write(ctx, w)
	must := l.j.view()
	dark := l.disk.Cut(uint64(l.fault.at))
	closing := h.Close() // may say again that the disk failed
	heal(l.disk)
	if l.fault.failed == 0 && err == nil {
		err = errors.Join(fmt.Errorf("call %d was never made", l.fault.at), closing)
	}
	return errors.Join(err, l.disk.Unmount(), cut{dark, must, must}.check(ctx), cut{l.disk, must, must}.check(ctx))
}

func (l *life) write(ctx context.Context, w *writer) error {
	var at muster.Position
	for steps, after := 0, 0; after < 30 && steps < 3000; steps++ {
		if l.fault.seen >= l.fault.at+l.fault.length-1 {
			after++
		}
		var err error
		at, err = w.step(ctx, "a", at)
		switch {
		case err != nil:
			if err := l.judge(err, after); err != nil {
				return err
			}
			at = muster.Position{} // only Begin tells where the stream is now
		case l.ends && l.said > 0:
			return errors.New("a change was acknowledged after a sync had failed")
		}
	}
	return nil
}

// judge says whether err is the right answer so many steps after the last fault.
func (l *life) judge(err error, after int) error {
	l.said++
	switch {
	case !strings.Contains(err.Error(), l.says) || !strings.Contains(err.Error(), "history "+diskFile):
		return fmt.Errorf("the answer is %w; it should say %q", err, l.says)
	case l.kind != nil && !errors.Is(err, l.kind):
		return fmt.Errorf("the answer is %w; it should match %w", err, l.kind)
	case !l.ends && after > 1:
		return fmt.Errorf("%d steps after the disk works again: %w", after, err)
	}
	return nil
}

// TestAFaultWhileOpeningLosesNothing makes each call fail that opening, checking and closing a file make: of a file
// with a history, and of one that is just made.
func TestAFaultWhileOpeningLosesNothing(t *testing.T) {
	wanted, err := powercut.Cuts(20) // fewer under the race detector
	if err != nil {
		t.Fatal(err)
	}
	step := max(1, 20/int(min(wanted, 20)))
	base, first := crashed(t)
	for name, start := range map[string]struct {
		disk *powercut.Disk
		j    *journal
	}{"a file with a history": {base, first}, "a new file": {blank(t), &journal{}}} {
		for op, what := range map[powercut.Op]string{
			0: "read", powercut.Write: "write", powercut.Truncate: "truncation", powercut.Sync: "sync",
			powercut.Create: "creation", powercut.Delete: "deletion",
		} {
			for _, fails := range []error{powercut.ErrIO, powercut.ErrNoSpace} {
				t.Run(fmt.Sprintf("%s, %s: %v", name, what, fails), func(t *testing.T) {
					calls, said := openings(t, start.disk, start.j, op, fails, step)
					t.Logf("%d calls, %d answered with an error", calls, said)
				})
			}
		}
	}
}

// openings opens copies of a disk, each with a fault at another call of the kind op, until there are no more such
// calls.
func openings(t *testing.T, base *powercut.Disk, j *journal, op powercut.Op, fails error, step int) (calls, said int) {
	for n := 1; ; n += step {
		d, f := base.Cut(0), &fault{op: op, err: fails, at: n, length: 1}
		if err := openWith(t.Context(), d, f); err != nil {
			said++
			text := explain(diskFile, "open", err).Error() // as Open does
			advice := []string{saysBroken, saysFull, "cannot be opened for this; check that they belong to you"}
			if !slices.ContainsFunc(advice, func(a string) bool { return strings.Contains(text, a) }) {
				t.Errorf("call %d: the answer %q does not say what to do", n, text)
			}
		}
		for after, disk := range map[string]*powercut.Disk{"a power cut": d.Cut(uint64(n)), "a restart": d} {
			if err := (cut{disk, j, j}).check(t.Context()); err != nil {
				t.Errorf("call %d, after %s: %v", n, after, err)
			}
		}
		if f.failed == 0 {
			return n - 1, said
		}
	}
}

// openWith opens and closes a history on a disk with a fault.
func openWith(ctx context.Context, d *powercut.Disk, f *fault) error {
	vfs, err := d.Mount()
	if err != nil {
		return err
	}
	f.plant(d)
	h, err := openOn(ctx, d, vfs)
	if err == nil {
		err = h.Close()
	}
	heal(d)
	return errors.Join(err, d.Unmount())
}
