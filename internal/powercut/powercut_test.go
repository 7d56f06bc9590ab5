package powercut_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/internal/powercut"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// open opens the file "f" on a disk in a journal mode; what opens it is closed with the test.
func open(t *testing.T, d *powercut.Disk, mode string) *sql.DB {
	t.Helper()
	vfs, err := d.Mount()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:f?_pragma=busy_timeout(2000)&_pragma=synchronous(EXTRA)&_pragma=journal_mode("+
		mode+")&vfs="+vfs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), d.Unmount()); err != nil {
			t.Error(err)
		}
	})
	return db
}

func do(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSQLiteRunsOnTheDiskInEveryJournalMode(t *testing.T) {
	for _, mode := range []string{"wal", "delete", "truncate", "persist"} {
		t.Run(mode, func(t *testing.T) {
			d := powercut.New()
			db := open(t, d, mode)
			do(t, db, "CREATE TABLE t (x)")
			for i := range 50 {
				do(t, db, fmt.Sprintf("INSERT INTO t VALUES ('%d%s')", i, strings.Repeat("x", 500)))
			}
			for seed := range uint64(30) {
				if n := count(t, open(t, d.Cut(seed), mode)); n != 50 {
					t.Fatalf("after power cut %d there are %d rows, want the 50 committed", seed, n)
				}
			}
		})
	}
}

func TestTwoConnectionsSeeAndLockEachOther(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		t.Run(mode, func(t *testing.T) {
			db := open(t, powercut.New(), mode)
			do(t, db, "CREATE TABLE t (x)")
			first, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := first.Exec("INSERT INTO t VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			second, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
			if _, err := second.ExecContext(t.Context(),
				"PRAGMA busy_timeout = 1; INSERT INTO t VALUES (2)"); err == nil ||
				!strings.Contains(err.Error(), "locked") {
				t.Errorf("a second writer: %v, want that the database is locked", err)
			}
			if err := first.Commit(); err != nil {
				t.Fatal(err)
			}
			if _, err := second.ExecContext(t.Context(), "INSERT INTO t VALUES (3)"); err != nil {
				t.Error(err)
			}
			if n := count(t, db); n != 2 {
				t.Errorf("%d rows, want 2", n)
			}
		})
	}
}

func TestWhatWasNotSyncedMayBeLost(t *testing.T) {
	d := powercut.New()
	if err := d.Append("f", []byte(strings.Repeat("x", 5000))); err != nil {
		t.Fatal(err)
	}
	d.SyncDirectory()
	seen := map[string]bool{}
	for seed := range uint64(200) {
		b, err := d.Cut(seed).Read("f")
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(b) == 0:
			seen["all lost"] = true
		case string(b) == strings.Repeat("x", 5000):
			seen["all kept"] = true
		case slices.Contains(b[:512], 0) && b[len(b)-1] == 'x':
			seen["the end without the beginning"] = true
		case b[0] == 'x' && (len(b)%512 == 256 || len(b) == 9*512+(5000-9*512)/2):
			seen["a torn sector"] = true
		}
		if again, err := d.Cut(seed).Read("f"); err != nil || !slices.Equal(again, b) {
			t.Fatalf("seed %d gives two different disks", seed)
		}
	}
	for _, what := range []string{"all lost", "all kept", "the end without the beginning", "a torn sector"} {
		if !seen[what] {
			t.Errorf("in 200 power cuts never seen: %s", what)
		}
	}
}

func TestTheDirectoryMayBeLostUntilItIsSynced(t *testing.T) {
	d := powercut.New()
	if err := errors.Join(d.Create("old"), d.Append("old", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	states := func() (found []string) {
		for seed := range uint64(100) {
			found = append(found, strings.Join(d.Cut(seed).Files(), " "))
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	for _, row := range []struct {
		name   string
		change func() error
		want   []string
	}{
		{"a new file may be there or not", func() error { return nil }, []string{"", "old"}},
		{"after a sync it is there", func() error { d.SyncDirectory(); return nil }, []string{"old"}},
		{"a file has its old name or its new one", func() error { return d.Rename("old", "new") },
			[]string{"new", "old"}},
		{"after a sync it has the new one", func() error { d.SyncDirectory(); return nil }, []string{"new"}},
		{"a deleted file may be back", func() error { return d.Remove("new") }, []string{"", "new"}},
		{"after a sync it is gone", func() error { d.SyncDirectory(); return nil }, []string{""}},
	} {
		if err := row.change(); err != nil {
			t.Fatal(err)
		}
		if got := states(); !slices.Equal(got, row.want) {
			t.Errorf("%s: found %q, want %q", row.name, got, row.want)
		}
	}
	if err := d.Remove("new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing what is not there: %v", err)
	}
}

func TestAFailedSyncIsNotMadeGoodByTheNext(t *testing.T) {
	d := powercut.New()
	db := open(t, d, "wal")
	do(t, db, "CREATE TABLE t (x)")
	fail := false
	d.Before(func(op powercut.Op) error {
		if fail && op == powercut.Sync {
			fail = false
			return powercut.ErrIO
		}
		return nil
	})
	lost := 0
	for i := range 30 {
		fail = true
		_, err := db.Exec(fmt.Sprintf("INSERT INTO t VALUES ('%s')", strings.Repeat("x", 3000)))
		if err == nil || !strings.Contains(err.Error(), "disk I/O") {
			t.Fatalf("insert with a failing sync: %v, want an I/O error", err)
		}
		log, err := d.Read("f-wal")
		if err != nil {
			t.Fatal(err)
		}
		after, err := d.Cut(uint64(i)).Read("f-wal")
		if err != nil || !slices.Equal(log, after) {
			lost++
		}
	}
	if lost == 0 {
		t.Error("nothing was lost by 30 failed syncs")
	}
}

func TestAFullDiskRefusesMore(t *testing.T) {
	d := powercut.New()
	db := open(t, d, "wal")
	do(t, db, "CREATE TABLE t (x)")
	d.Limit(d.Used() + 20_000)
	full := false
	for range 20 {
		if _, err := db.Exec("INSERT INTO t VALUES (?)", strings.Repeat("x", 3000)); err != nil {
			full = strings.Contains(err.Error(), "full")
			break
		}
	}
	if !full {
		t.Error("20 rows of 3 kB fit into 20 kB")
	}
	d.Limit(0)
	do(t, db, "INSERT INTO t VALUES (1)")
}

func TestUnmountingAnOpenDiskIsRefused(t *testing.T) {
	d := powercut.New()
	db := open(t, d, "wal")
	do(t, db, "CREATE TABLE t (x)")
	if err := d.Unmount(); err == nil {
		t.Error("the disk was unmounted under an open connection")
	}
	do(t, db, "INSERT INTO t VALUES (1)")
}

// TestAPlainFileIsKeptAsFarAsItWasSynced writes to a file that SQLite knows nothing of.
func TestAPlainFileIsKeptAsFarAsItWasSynced(t *testing.T) {
	d := powercut.New()
	if err := d.WriteAt("log", []byte("x"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a write to no file: %v", err)
	}
	if err := errors.Join(d.Create("log"), d.WriteAt("log", []byte("synced"), 0), d.SyncFile("log")); err != nil {
		t.Fatal(err)
	}
	d.SyncDirectory()
	if err := d.WriteAt("log", []byte("later"), 6); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for seed := range uint64(100) {
		b, err := d.Cut(seed).Read("log")
		if err != nil || !strings.HasPrefix(string(b), "synced") {
			t.Fatalf("after cut %d the file is %q, %v", seed, b, err)
		}
		seen[string(b)] = true
	}
	if !seen["synced"] || !seen["syncedlater"] || len(seen) < 4 {
		t.Errorf("what was not synced was found as %v", seen)
	}
	d.Limit(d.Used() + 2)
	if err := d.WriteAt("log", []byte("more"), 11); !errors.Is(err, powercut.ErrNoSpace) || d.Used() != 13 {
		t.Errorf("a write to a full disk: %v, %d bytes", err, d.Used())
	}
	d.Before(func(powercut.Op) error { return powercut.ErrIO })
	if err := d.SyncFile("log"); !errors.Is(err, powercut.ErrIO) {
		t.Errorf("a sync that fails: %v", err)
	}
	d.Before(nil)
	if err := d.SyncFile("log"); err != nil {
		t.Fatal(err)
	}
	lost := false
	for seed := range uint64(100) {
		b, err := d.Cut(seed).Read("log")
		lost = lost || err == nil && string(b) != "syncedlatermo"
	}
	if !lost {
		t.Error("a sync after the one that failed brought everything to the disk")
	}
}
