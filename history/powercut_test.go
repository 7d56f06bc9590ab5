package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

const diskFile = "/history.db"

var dawn = time.Date(2026, 3, 14, 6, 0, 0, 0, time.UTC)

// cut is a disk after a power cut, what must be on it and what may be.
type cut struct {
	disk      *powercut.Disk
	must, may *journal
}

func (c cut) check(ctx context.Context) (err error) {
	vfs, err := c.disk.Mount()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.disk.Unmount()) }()
	h, err := openOn(ctx, c.disk, vfs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	var verdict string
	if err := h.writer.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("integrity check: %s %w", verdict, err)
	}
	return c.compare(ctx, h)
}

// makeBlank makes the empty file on a disk that open makes first.
func makeBlank(d *powercut.Disk) error {
	err := errors.Join(d.Create(diskFile), d.Append(diskFile, sqlitefile.Blank(applicationID, 0)), d.SyncFile(diskFile))
	d.SyncDirectory()
	return err
}

// openOn does what open does, on a disk.
func openOn(ctx context.Context, d *powercut.Disk, vfs string) (*History, error) {
	place := powercut.Named{Disk: d, Name: diskFile + sqlitefile.MarkSuffix}
	if journal, err := d.Read(diskFile + "-journal"); err == nil {
		_, missing := place.Read()
		if err := rollBack(ctx, diskFile, vfs, journal, missing == nil); err != nil {
			return nil, err
		}
	}
	b, err := d.Read(diskFile)
	if err != nil {
		return nil, err
	}
	log, _ := d.Read(diskFile + "-wal")
	sealed, err := firstPage(ctx, diskFile, vfs, b, len(log) > 0)
	if err != nil {
		return nil, err
	}
	return openFile(ctx, diskFile, vfs, Options{MaxBytes: 1 << 30}, form{sealed, len(log) > 0}, place)
}

func (c cut) compare(ctx context.Context, h *History) error {
	present := make([]int, len(c.may.attempts))
	for _, fleet := range []string{"a", "b"} {
		var last muster.Position
		var wrong error
		err := h.Read(ctx, fleet, time.Time{}, func(r muster.Record) bool {
			var m mark
			if err := json.Unmarshal(r.Body, &m); err != nil || m.Attempt >= len(present) {
				wrong = fmt.Errorf("record %d of fleet %s was never appended: %.40q", r.Position.Seq, fleet, r.Body)
				return false
			}
			a := c.may.attempts[m.Attempt]
			want := muster.Position{Epoch: a.after.Epoch, Seq: a.after.Seq + int64(m.Place) + 1}
			if r.Position != want || a.fleet != fleet || r.Position.Seq != last.Seq+1 || r.Position.Epoch < last.Epoch {
				wrong = fmt.Errorf("record %v of fleet %s after %v, want %v of fleet %s", r.Position, fleet, last, want,
					a.fleet)
				return false
			}
			last = r.Position
			present[m.Attempt]++
			return true
		})
		if err := errors.Join(err, wrong); err != nil {
			return err
		}
		p, err := h.Begin(ctx, fleet)
		if err != nil || p.Epoch <= c.must.epochs[fleet] || p.Seq != last.Seq {
			return fmt.Errorf("fleet %s begins at %v (%v), want an epoch after %d and sequence %d", fleet, p, err,
				c.must.epochs[fleet], last.Seq)
		}
	}
	for n, got := range present {
		a := c.may.attempts[n]
		switch {
		case got != 0 && got != a.records:
			return fmt.Errorf("append %d is there in part: %d of %d records", n, got, a.records)
		case got == 0 && n < len(c.must.attempts) && c.must.attempts[n].acked:
			return fmt.Errorf("append %d was acknowledged, and it is lost", n)
		case got != 0 && a.refused:
			return fmt.Errorf("append %d was refused, and it is there", n)
		}
	}
	return nil
}

// past runs writers on a new disk and takes cuts at random moments, the making of the file included.
func past(ctx context.Context, seed uint64, prepare func(*powercut.Disk)) (cuts []cut, err error) {
	chance := rand.New(rand.NewPCG(seed, 1))
	d := powercut.New()
	if prepare != nil {
		prepare(d)
	}
	if err := makeBlank(d); err != nil {
		return nil, err
	}
	vfs, err := d.Mount()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Unmount()) }()
	h, err := openOn(ctx, d, vfs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, err := h.writer.Exec(fmt.Sprintf("PRAGMA wal_autocheckpoint = %d",
		[]int{3, 10, 30, 100}[chance.IntN(4)])); err != nil {
		return nil, err
	}
	j := &journal{epochs: map[string]int64{}}
	var mu sync.Mutex
	d.Before(func(powercut.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if chance.IntN(50) == 0 {
			must := j.view()
			after := d.Cut(chance.Uint64())
			cuts = append(cuts, cut{after, must, j.view()})
		}
		return nil
	})
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i, fleet := range []string{"a", "a", "b"} {
		w := &writer{h, j, rand.New(rand.NewPCG(seed, uint64(10+i)))}
		wg.Go(func() { errs[i] = w.run(ctx, fleet, 30) })
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	cuts = append(cuts, cut{d.Cut(seed), j.view(), j.view()})
	return cuts, errors.Join(errs...)
}

// again checks a cut, and cuts the power once more during that.
func again(ctx context.Context, c cut, chance *rand.Rand) error {
	var second *powercut.Disk
	at := chance.IntN(25)
	c.disk.Before(func(powercut.Op) error {
		if at == 0 {
			second = c.disk.Cut(chance.Uint64())
		}
		at--
		return nil
	})
	if err := c.check(ctx); err != nil || second == nil {
		return err
	}
	if err := (cut{second, c.must, c.may}).check(ctx); err != nil {
		return fmt.Errorf("after a second cut, while recovering: %w", err)
	}
	return nil
}

func explore(t *testing.T, wanted int64, prepare func(*powercut.Disk), report func(error)) (cuts, losses int64) {
	t.Helper()
	var seeds, made, lost atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for made.Load() < wanted && lost.Load() < 1+wanted/20 {
				seed := uint64(seeds.Add(1))
				cuts, err := past(t.Context(), seed, prepare)
				if err != nil {
					t.Errorf("history %d: %v", seed, err)
					return
				}
				chance := rand.New(rand.NewPCG(seed, 2))
				for i, c := range cuts {
					if err := again(t.Context(), c, chance); err != nil {
						lost.Add(1)
						report(fmt.Errorf("history %d, cut %d: %w", seed, i, err))
					}
				}
				made.Add(int64(len(cuts)))
			}
		})
	}
	wg.Wait()
	return made.Load(), lost.Load()
}

func TestAPowerCutWhileTheFileIsMadeLeavesAFileThatOpens(t *testing.T) {
	wanted, err := powercut.Cuts(500)
	if err != nil {
		t.Fatal(err)
	}
	cuts := int64(0)
	for seed := uint64(0); cuts < wanted; seed++ {
		d := powercut.New()
		if err := makeBlank(d); err != nil {
			t.Fatal(err)
		}
		vfs, err := d.Mount()
		if err != nil {
			t.Fatal(err)
		}
		var disks []*powercut.Disk
		d.Before(func(powercut.Op) error {
			disks = append(disks, d.Cut(seed<<32+uint64(len(disks))))
			return nil
		})
		h, err := openOn(t.Context(), d, vfs)
		if err == nil {
			err = errors.Join(h.Close(), d.Unmount())
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, disk := range disks {
			cuts++
			if err := (cut{disk, &journal{}, &journal{}}).check(t.Context()); err != nil {
				t.Errorf("seed %d, change %d: %v", seed, i, err)
			}
		}
	}
	t.Logf("%d power cuts", cuts)
}

func TestAPowerCutLosesNoRecordThatWasAcknowledged(t *testing.T) {
	wanted, err := powercut.Cuts(1000)
	if err != nil {
		t.Fatal(err)
	}
	cuts, losses := explore(t, wanted, nil, func(err error) { t.Error(err) })
	t.Logf("%d power cuts, %d with losses", cuts, losses)
}

// TestThePowerCutsFindADiskThatIgnoresSync proves the test above: with a disk that only says that it synced, it must
// find losses.
func TestThePowerCutsFindADiskThatIgnoresSync(t *testing.T) {
	cuts, losses := explore(t, 300, (*powercut.Disk).IgnoreSync, func(error) {})
	if losses == 0 {
		t.Errorf("%d power cuts on a disk that ignores syncs, and no loss was found", cuts)
	}
	t.Logf("losses in %d of %d power cuts", losses, cuts)
}

// TestAHalfWrittenHeaderIsReadFromTheLog damages the first page as a power cut in the middle of a checkpoint does.
func TestAHalfWrittenHeaderIsReadFromTheLog(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "h.db"), filepath.Join(t.TempDir(), "h.db")
	h, err := Open(from, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p, err := h.Begin(t.Context(), "a")
	if err == nil {
		body := fmt.Appendf(nil, `"%0100000d"`, 1) // the file grows, so its first page is in the log
		_, err = h.Append(t.Context(), "a", p, muster.Record{At: dawn, Kind: muster.Decided, Body: body})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-mark"} {
		b, err := os.ReadFile(from + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix == "" {
			clear(b[:512])
		}
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Open(to, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Get(t.Context(), "a", 1); err != nil {
		t.Error(err)
	}
}
