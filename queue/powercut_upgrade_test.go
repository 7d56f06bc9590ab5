package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// mountPlace makes a disk that loses its power a place until the returned function is called. The names on it are
// paths. before is called before each change of a name or a whole file; those of SQLite come to the disk itself.
func mountPlace(d *powercut.Disk, before func()) (storage.Place, func() error, error) {
	vfs, err := d.Mount()
	return storage.Place{
		VFS: vfs,
		Create: func(path string, content []byte) error {
			before()
			err := d.Append(path, content)
			before()
			return errors.Join(err, d.SyncFile(path))
		},
		Rename: func(from, to string) error {
			before()
			return d.Rename(from, to)
		},
		Remove: func(path string) error {
			before()
			if err := d.Remove(path); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
		Sync: func(string) error {
			before()
			d.SyncDirectory()
			return nil
		},
		Size: func(path string) (int64, error) {
			b, err := d.Read(path)
			if errors.Is(err, fs.ErrNotExist) {
				return 0, nil
			}
			return int64(len(b)), err
		},
		Mark: func(path string) sqlitefile.MarkPlace { return powercut.Named{Disk: d, Name: path} },
	}, d.Unmount, err
}

// olderDisk is a disk with the files of an older directory, all of them durable.
func olderDisk(t *testing.T, files map[string][]byte) *powercut.Disk {
	t.Helper()
	d := powercut.New()
	for name, content := range files {
		if err := errors.Join(d.Append(name, content), d.SyncFile(name)); err != nil {
			t.Fatal(err)
		}
	}
	d.SyncDirectory()
	return d
}

// upgradeMessages are more than one batch of an upgrade, so that some cuts come between two.
const upgradeMessages = storage.UpgradeBatch + 200

// olderFiles are the files of a directory as a program of an older version left it: closed, or killed with the newest
// of the file in its write-ahead log, or with operations in the log beside it.
func olderFiles(t *testing.T, version int, killed bool) map[string][]byte {
	t.Helper()
	dir := olderQueueFile(t, min(version, 2))
	db := must(sql.Open("sqlite", "file:"+filepath.Join(dir, queueFile)))(t)
	defer db.Close()
	db.SetMaxOpenConns(1)
	now := time.Now().UnixMilli()
	_, err := db.Exec(fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO messages SELECT i, 1, %[2]d, %[2]d, 0, 0, 0, 0, randomblob(16), NULL, NULL, NULL, NULL, NULL, 'm' || i FROM n`, 100+upgradeMessages-2, now))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{queueFile}
	if version == storage.OlderLogged {
		const generation = 77
		r := machine.Row{Numbers: machine.Numbers{Seq: 9000}, Queue: 1}
		r.Sent, r.Visible = now, now
		log := olderLog(t, generation,
			[]machine.Op{{Kind: machine.OpInsert, Row: r, Record: &machine.Record{ID: newID(), Body: "logged"}}})
		_, err = db.Exec(fmt.Sprintf("INSERT INTO meta VALUES ('log', %d); PRAGMA user_version = %d", generation,
			storage.OlderLogged))
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, logName), log, 0o600)); err != nil {
			t.Fatal(err)
		}
		names = append(names, logName)
	}
	if killed {
		names = append(names, queueFile+"-wal")
	} else if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = must(os.ReadFile(filepath.Join(dir, name)))(t)
	}
	return files
}

// bringForward upgrades the older file on a disk, as a start does. cut is called before each step.
func bringForward(ctx context.Context, d *powercut.Disk, cut func()) error {
	d.Before(func(powercut.Op) error {
		cut()
		return nil
	})
	defer d.Before(nil)
	place, unmount, err := mountPlace(d, cut)
	if err != nil {
		return err
	}
	err = storage.Upgrade(ctx, place, queueFile, diskLog{d})
	return errors.Join(err, unmount())
}

// restarted writes what is on a disk into a directory and opens the queue there, as a start after the power cut does.
// It says what is missing of the older file.
func restarted(t *testing.T, d *powercut.Disk, want int) error {
	t.Helper()
	dir := t.TempDir()
	for _, name := range d.Files() {
		b, err := d.Read(name)
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o600)); err != nil {
			return err
		}
	}
	s, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	err = complete(s, want)
	return errors.Join(err, s.Close(), os.RemoveAll(dir))
}

// anew upgrades once more what a power cut left of an older file, and cuts the power in the middle of that; nil where
// the upgrade was complete.
func anew(ctx context.Context, d *powercut.Disk, chance *rand.Rand) (second *powercut.Disk, err error) {
	content, err := d.Read(queueFile)
	if err != nil || len(content) < sqlitefile.PageBytes || sqlitefile.HasSeals(content[:sqlitefile.PageBytes]) {
		return nil, err
	}
	d = d.Cut(0)
	at := chance.IntN(60)
	err = bringForward(ctx, d, func() {
		if at == 0 {
			second = d.Cut(chance.Uint64())
		}
		at--
	})
	return second, err
}

// complete says what is missing of what the older file held.
func complete(s *Service, want int) error {
	c, err := s.Counts("q")
	if err != nil {
		return err
	}
	if c.Visible != want || c.InFlight+c.Delayed+c.Damaged > 0 {
		return fmt.Errorf("%d messages are visible, %d in flight, %d delayed and %d damaged; want %d, all visible",
			c.Visible, c.InFlight, c.Delayed, c.Damaged, want)
	}
	a, err := s.Attributes("q")
	if err == nil && a["VisibilityTimeout"] != "7" {
		err = fmt.Errorf("the queue has the attributes %v", a)
	}
	if err == nil && state(s).LastSeq < 4<<machine.SeqBits {
		err = fmt.Errorf("the openings are counted anew: sequence %d", state(s).LastSeq)
	}
	return err
}

// A power cut may keep the later of two names alone, unless the earlier one was synced before. So the file takes its
// place once its mark is there for good: a file without its mark counts as damaged.
func TestNoPowerCutLeavesTheFileWithoutItsMark(t *testing.T) {
	d := powercut.New()
	chance := rand.New(rand.NewPCG(1, 1))
	placed := 0
	err := createCut(t.Context(), d, func() {
		for range 64 {
			files := d.Cut(chance.Uint64()).Files()
			if !slices.Contains(files, queueFile) {
				continue
			}
			placed++
			if !slices.Contains(files, markName) {
				t.Fatalf("a power cut leaves %q", files)
			}
		}
	})
	if err != nil || placed == 0 {
		t.Errorf("%d cuts left a file: %v", placed, err)
	}
}

// lastSteps are always cut before: there the new file takes the place of the older one.
const lastSteps = 12

// TestAPowerCutWhileAnOlderFileIsBroughtForwardLosesNothing cuts the power before steps of an upgrade, before every one
// where MUSTER_POWERCUTS is at least their number: the directory that is left opens, and has everything, whether the
// upgrade begins anew or was complete. Some upgrades that begin anew are cut too.
func TestAPowerCutWhileAnOlderFileIsBroughtForwardLosesNothing(t *testing.T) {
	wanted, err := powercut.Cuts(20)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []struct {
		name    string
		version int
		killed  bool
		logged  int
	}{
		{"version 1", 1, false, 0},
		{"version 2, killed with a write-ahead log", 2, true, 0},
		{"version 2, killed with a log", storage.OlderLogged, true, 1},
	} {
		t.Run(from.name, func(t *testing.T) {
			files, want := olderFiles(t, from.version, from.killed), upgradeMessages+from.logged
			cuts, renamed, twice := int64(0), 0, 0
			for seed := uint64(1); cuts < wanted; seed++ {
				chance := rand.New(rand.NewPCG(seed, 9))
				disk := olderDisk(t, files)
				var disks []*powercut.Disk
				cutAll := func() { disks = append(disks, disk.Cut(chance.Uint64())) }
				if err := bringForward(t.Context(), disk, cutAll); err != nil {
					t.Fatal(err)
				}
				cutAll() // it is complete
				stride := max(1, len(disks)/int(wanted))
				from := chance.IntN(stride)
				for i, d := range disks {
					if i%stride != from && i < len(disks)-lastSteps {
						continue
					}
					cuts++
					if cuts%4 == 0 {
						second, err := anew(t.Context(), d, chance)
						if err == nil && second != nil {
							twice++
							err = restarted(t, second, want)
						}
						if err != nil {
							t.Errorf("seed %d, step %d of %d, cut again: %v", seed, i, len(disks), err)
						}
					}
					if slices.Contains(d.Files(), markName) {
						renamed++
					}
					if err := restarted(t, d, want); err != nil {
						t.Errorf("seed %d, step %d of %d, with %q left: %v", seed, i, len(disks), d.Files(), err)
					}
				}
			}
			t.Logf("%d power cuts, %d after the new file began to take the place of the older one, %d upgrades cut "+
				"twice", cuts, renamed, twice)
			if renamed == 0 || twice == 0 {
				t.Error("no cut came after the new file was complete, or none came twice")
			}
		})
	}
}
