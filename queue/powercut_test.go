package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// createOn makes the queue file.
func createOn(ctx context.Context, d *powercut.Disk) error { return createCut(ctx, d, func() {}) }

// createCut is createOn with cut called before each change of a name or a whole file.
func createCut(ctx context.Context, d *powercut.Disk, cut func()) error {
	place, unmount, err := mountPlace(d, cut)
	if err != nil {
		return err
	}
	return errors.Join(storage.Create(ctx, place, queueFile, nil), unmount())
}

// history runs clients on a copy of base and takes cuts at random moments: in
// the middle of a write, between a write and its sync, before an answer.
func history(ctx context.Context, base *powercut.Disk, seed uint64, prepare func(*powercut.Disk)) ([]cut, error) {
	chance := rand.New(rand.NewPCG(seed, 1))
	d := base.Cut(seed)
	if prepare != nil {
		prepare(d)
	}
	s, err := openSite(ctx, d, []int{3, 10, 30, 100}[chance.IntN(4)])
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var cuts []cut
	d.Before(func(powercut.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if chance.IntN(25) == 0 {
			must := s.ledger.view()
			after := d.Cut(chance.Uint64())
			cuts = append(cuts, cut{after, must, s.ledger.view()})
		}
		return nil
	})
	err = s.run(ctx, seed, 1+chance.IntN(4), 40)
	mu.Lock()
	must := s.ledger.view()
	cuts = append(cuts, cut{d.Cut(seed), must, must}) // everything was answered
	mu.Unlock()
	return cuts, errors.Join(err, s.close())
}

// again cuts the power once more, while the file is opened, checked and closed
// after a first cut.
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

// tally counts cuts and what was found.
type tally struct{ cuts, histories, losses atomic.Int64 }

// explore runs histories on all processors until there were so many cuts. The
// first failures go to report.
func explore(t *testing.T, wanted int64, prepare func(*powercut.Disk), report func(c cut, err error)) *tally {
	t.Helper()
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sum tally
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for sum.cuts.Load() < wanted && sum.losses.Load() < wanted/20 && t.Context().Err() == nil {
				seed := uint64(sum.histories.Add(1))
				cuts, err := history(t.Context(), base, seed, prepare)
				if err != nil {
					t.Errorf("history %d: %v", seed, err)
					return
				}
				chance := rand.New(rand.NewPCG(seed, 2))
				for i, c := range cuts {
					before := c.disk.Cut(0)
					if err := again(t.Context(), c, chance); err != nil {
						sum.losses.Add(1)
						c.disk = before
						report(c, fmt.Errorf("history %d, cut %d: %w", seed, i, err))
					}
				}
				sum.cuts.Add(int64(len(cuts)))
			}
		})
	}
	wg.Wait()
	return &sum
}

// keepDisk writes the files of a disk where they can be looked at.
func keepDisk(t *testing.T, d *powercut.Disk) string {
	t.Helper()
	dir := t.ArtifactDir()
	for _, name := range d.Files() {
		b, err := d.Read(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	return dir
}

func TestAPowerCutLosesNothingThatWasAcknowledged(t *testing.T) {
	wanted, err := powercut.Cuts(3000)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	sum := explore(t, wanted, nil, func(c cut, err error) {
		once.Do(func() {
			err = fmt.Errorf("%w\nthe disk is in %s (run with -artifacts to keep it)", err, keepDisk(t, c.disk))
		})
		t.Error(err)
	})
	t.Logf("%d power cuts in %d histories, %d with losses", sum.cuts.Load(), sum.histories.Load(), sum.losses.Load())
}

// TestAPowerCutWhileTheFileIsMadeLeavesNoneOrOneThatOpens cuts before each
// change that making and first opening a file makes.
func TestAPowerCutWhileTheFileIsMadeLeavesNoneOrOneThatOpens(t *testing.T) {
	wanted, err := powercut.Cuts(500)
	if err != nil {
		t.Fatal(err)
	}
	made, opened := int64(0), 0
	for seed := uint64(0); made < wanted; seed++ {
		d := powercut.New()
		var disks []*powercut.Disk
		d.Before(func(powercut.Op) error {
			disks = append(disks, d.Cut(seed<<32+uint64(len(disks))))
			return nil
		})
		err := createCut(t.Context(), d, func() { disks = append(disks, d.Cut(seed<<32+uint64(len(disks)))) })
		if err == nil {
			var s *site
			if s, err = openSite(t.Context(), d, 10); err == nil {
				err = s.close()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, disk := range disks {
			made++
			if !slices.Contains(disk.Files(), queueFile) {
				continue
			}
			opened++
			if err := (cut{disk: disk}).check(t.Context()); err != nil {
				t.Errorf("seed %d, change %d: %v", seed, i, err)
			}
		}
	}
	if opened == 0 {
		t.Error("no cut came after the file was made")
	}
	t.Logf("%d power cuts, %d of them with a file", made, opened)
}

// TestThePowerCutsFindADiskThatIgnoresSync proves the test above: with a disk
// that only says that it synced, it must find losses.
func TestThePowerCutsFindADiskThatIgnoresSync(t *testing.T) {
	sum := explore(t, 300, (*powercut.Disk).IgnoreSync, func(cut, error) {})
	if sum.losses.Load() == 0 {
		t.Errorf("%d power cuts on a disk that ignores syncs, and no loss was found", sum.cuts.Load())
	}
	t.Logf("losses in %d of %d power cuts", sum.losses.Load(), sum.cuts.Load())
}

// TestAHalfWrittenHeaderIsReadFromTheLog damages the first page as a power cut
// in the middle of a checkpoint does.
func TestAHalfWrittenHeaderIsReadFromTheLog(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "a", strings.Repeat("b", 100_000)) // the file grows, so its first page is in the log
	for _, name := range []string{queueFile, queueFile + "-wal", markName} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == queueFile {
			clear(b[:512])
		}
		if err := os.WriteFile(filepath.Join(copied, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantCounts(t, open(t, Options{Dir: copied}), "q", 2, 0, 0)
}
