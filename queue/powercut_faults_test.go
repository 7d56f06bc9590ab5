package queue

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/muster-scale/muster/internal/powercut"
)

// TestAFaultAtAnyWriteOrSyncLosesNothing makes each of the first 300 writes,
// or syncs, of a history fail once, looks at what is answered, and then opens
// the queue again: after a restart, and after a power cut.
func TestAFaultAtAnyWriteOrSyncLosesNothing(t *testing.T) {
	wanted, err := powercut.Cuts(300) // fewer under the race detector
	if err != nil {
		t.Fatal(err)
	}
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		op    powercut.Op
		fault error
		says  error
	}{
		{"a write that fails stops the queue", powercut.Write, powercut.ErrIO, ErrStorage},
		{"a sync that fails stops the queue", powercut.Sync, powercut.ErrIO, ErrStorage},
		{"a disk that is full for some writes refuses sends for as long", powercut.Write, powercut.ErrNoSpace,
			ErrStorageFull},
	} {
		t.Run(row.name, func(t *testing.T) {
			step := max(1, 300/int(min(wanted, 300)))
			said := 0
			for n := 1; n <= 300; n += step {
				failures, err := faulted(t.Context(), base, row.op, n, row.fault, row.says)
				if err != nil {
					t.Errorf("fault at call %d: %v", n, err)
				}
				if failures > 0 {
					said++
				}
			}
			if said == 0 {
				t.Error("no fault was ever answered")
			}
			t.Logf("of the faults at %d calls, %d were answered with an error", 300/step, said)
		})
	}
}

// faulted runs one client on a disk whose n-th op fails.
func faulted(ctx context.Context, base *powercut.Disk, op powercut.Op, n int, fault, says error) (failures int64,
	err error) {
	d := base.Cut(0)
	s, err := openSite(ctx, d, 20)
	if err != nil {
		return 0, err
	}
	s.failures = new(atomic.Int64)
	var seen atomic.Int64
	length := 1
	if errors.Is(fault, powercut.ErrNoSpace) {
		length = 8 // beyond the second try
	}
	var hit atomic.Bool
	d.Before(func(o powercut.Op) error {
		if o != op {
			return nil
		}
		if at := int(seen.Add(1)); at < n || at >= n+length {
			return nil
		}
		hit.Store(true)
		return fault
	})
	for round := uint64(0); !hit.Load() && round < 100; round++ {
		if err := s.run(ctx, uint64(n)<<8+round, 1, 10); err != nil {
			return 0, err
		}
	}
	if !hit.Load() {
		return 0, errors.Join(fmt.Errorf("call %d was never made", n), s.close())
	}
	last := s.ledger.sending("q", []int{0}, 0)[0]
	for tries := 0; ; tries++ {
		_, err = s.service.Send(ctx, "q", []Outgoing{{Body: s.ledger.body(last), Attributes: attributesOf(last)}})
		if !errors.Is(err, ErrStorageFull) || tries == length {
			break // there is room again
		}
	}
	switch {
	case errors.Is(says, ErrStorage) && errors.Is(err, ErrStorage):
		s.failures.Add(1) // it may have come to light in the background
	case errors.Is(says, ErrStorage) && s.failures.Load() > 0:
		return 0, fmt.Errorf("a send after the disk failed is answered %v", err)
	case err != nil:
		return 0, fmt.Errorf("a send after the fault: %w", err)
	default:
		s.ledger.note(func(f *fact) { f.acked = true }, last)
	}
	v := s.ledger.view()
	dark := d.Cut(uint64(n))
	s.service.Close() // may say again that the disk failed
	d.Before(nil)
	failures = s.failures.Load()
	return failures, errors.Join(cut{dark, v, v}.check(ctx), cut{d, v, v}.check(ctx))
}

// TestAFaultWhileOpeningChangesNothing makes each change of the disk fail that
// opening makes.
func TestAFaultWhileOpeningChangesNothing(t *testing.T) {
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSite(t.Context(), base, 1000)
	if err == nil {
		err = s.run(t.Context(), 1, 2, 20)
	}
	if err != nil {
		t.Fatal(err)
	}
	v := s.ledger.view()
	crashed := base.Cut(1)
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	for _, fault := range []error{powercut.ErrIO, powercut.ErrNoSpace} {
		for n, hit := 1, true; hit; n++ {
			d := crashed.Cut(0)
			seen := 0
			d.Before(func(powercut.Op) error {
				if seen++; seen == n {
					return fault
				}
				return nil
			})
			if s, err := openSite(t.Context(), d, 1000); err == nil {
				if err := s.service.Close(); err != nil {
					t.Logf("close: %v", err)
				}
			}
			hit = seen >= n
			d.Before(nil)
			if err := (cut{d, v, v}).check(t.Context()); err != nil {
				t.Errorf("%v at change %d: %v", fault, n, err)
			}
		}
	}
}

// TestAReadThatFailsWhileOpeningIsNoDamage makes each read fail that opening makes: the file must not be called
// damaged, or an operator would move it away.
func TestAReadThatFailsWhileOpeningIsNoDamage(t *testing.T) {
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for n, hit := 1, true; hit; n++ {
		d := base.Cut(0)
		var seen atomic.Int64
		d.BeforeRead(func() error {
			if seen.Add(1) == int64(n) {
				return powercut.ErrIO
			}
			return nil
		})
		s, err := openSite(t.Context(), d, 1000)
		if err == nil {
			err = s.close()
		}
		if err != nil {
			said++
		}
		if errors.Is(err, ErrCorruptFile) {
			t.Errorf("read %d: %v", n, err)
		}
		hit = seen.Load() >= int64(n)
	}
	if said == 0 {
		t.Error("no failure was answered")
	}
}

// TestSyncsGoThroughTheDrivesCache holds the settings whose effect a disk in
// memory cannot show.
func TestSyncsGoThroughTheDrivesCache(t *testing.T) {
	db := mustSQLite(t, t.TempDir())
	defer db.Close()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "fullfsync": "1"} {
		var got string
		if err := db.Db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", pragma, got, err, want)
		}
	}
}

// diskReserve is a reserve on a disk in memory.
type diskReserve struct {
	disk *powercut.Disk
	size int
}

func (r diskReserve) Take() error {
	if _, err := r.disk.Read("reserve"); err == nil {
		return nil
	}
	return r.disk.Append("reserve", make([]byte, r.size))
}

func (r diskReserve) Give() error { return r.disk.Remove("reserve") }

func (r diskReserve) Keep() { r.Take() }

// TestOnAFullDiskSendsAreRefusedAndEveryDeleteWorks fills disks of many sizes,
// empties the queue again, one message at a time, and fills it once more.
func TestOnAFullDiskSendsAreRefusedAndEveryDeleteWorks(t *testing.T) {
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for room := int64(200_000); room <= 1_200_000; room += 234_567 {
		t.Run(fmt.Sprintf("with room for %d bytes", room), func(t *testing.T) {
			fillUp(t, base.Cut(0), room)
		})
	}
}

func fillUp(t *testing.T, d *powercut.Disk, room int64) {
	const checkpoint = 20
	s, err := openSite(t.Context(), d, checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	s.db.Reserve = diskReserve{d, 1.2 * checkpoint * 4096}
	if err := s.db.Reserve.Take(); err != nil {
		t.Fatal(err)
	}
	d.Limit(d.Used() + room)
	for range 2 {
		sent := sendAll(t, s)
		if sent < int(room/20_000) {
			t.Errorf("%d messages of 3 kB had room", sent)
		}
		v := s.ledger.view()
		if err := (cut{d.Cut(1), v, v}).check(t.Context()); err != nil {
			t.Error(err)
		}
		deleteAll(t, s)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestASmallDiskIsUsedAgainAndAgain has room for the messages, but not for a
// log of all that is written: the log must be written back to be used again.
func TestASmallDiskIsUsedAgainAndAgain(t *testing.T) {
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := base.Cut(0)
	s, err := openSite(t.Context(), d, 1000)
	if err != nil {
		t.Fatal(err)
	}
	d.Limit(d.Used() + 200_000)
	for range 100 {
		mustSend(t, s.service, "q", "0|")
		for _, m := range take(t, s.service, "q") {
			mustDelete(t, s.service, "q", m.Receipt)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// sendAll sends until the disk is full.
func sendAll(t *testing.T, s *site) (sent int) {
	t.Helper()
	for {
		n := s.ledger.sending("q", []int{3000}, 0)[0]
		_, err := s.service.Send(t.Context(), "q", []Outgoing{{Body: s.ledger.body(n), Attributes: attributesOf(n)}})
		if errors.Is(err, ErrStorageFull) {
			return sent
		}
		if err != nil {
			t.Fatal(err)
		}
		s.ledger.note(func(f *fact) { f.acked = true }, n)
		sent++
	}
}

// deleteAll deletes all messages, one after the other.
func deleteAll(t *testing.T, s *site) {
	t.Helper()
	for got := take(t, s.service, "q"); len(got) > 0; got = take(t, s.service, "q") {
		for _, m := range got {
			n, err := number(m.Body)
			if err != nil {
				t.Fatal(err)
			}
			s.ledger.note(func(f *fact) { f.removing, f.deleted = true, 1 }, n)
			mustDelete(t, s.service, "q", m.Receipt)
		}
	}
	wantCounts(t, s.service, "q", 0, 0, 0)
}
