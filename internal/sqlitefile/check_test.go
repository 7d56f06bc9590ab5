package sqlitefile_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

const page = 4096

// disk holds a file with a table of many pages, some of them long chains.
func disk(t *testing.T) *powercut.Disk {
	t.Helper()
	d := powercut.New()
	if err := d.Create("f"); err != nil {
		t.Fatal(err)
	}
	on(t, d, func(db *sql.DB) {
		for _, text := range []string{"CREATE TABLE t (body TEXT)", "CREATE INDEX i ON t (body)"} {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 30 {
			if _, err := db.Exec("INSERT INTO t VALUES (?)", strings.Repeat("x", n*500)); err != nil {
				t.Fatal(err)
			}
		}
	})
	return d
}

func on(t *testing.T, d *powercut.Disk, use func(*sql.DB)) {
	t.Helper()
	vfs, err := d.Mount()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:f?vfs="+vfs)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	use(db)
	if err := errors.Join(db.Close(), d.Unmount()); err != nil {
		t.Error(err)
	}
}

// TestAReadThatFailsIsNoDamage makes each read of a check fail once.
func TestAReadThatFailsIsNoDamage(t *testing.T) {
	d := disk(t)
	reads, said := 0, 0
	d.BeforeRead(func() error {
		reads++
		return nil
	})
	on(t, d, func(db *sql.DB) {
		if damage, err := sqlitefile.Check(t.Context(), db, "t"); damage != "" || err != nil {
			t.Errorf("a file in order: damage %q, %v", damage, err)
		}
	})
	for n := 1; n <= reads; n++ {
		seen := 0
		d.BeforeRead(func() error {
			if seen++; seen == n {
				return powercut.ErrIO
			}
			return nil
		})
		on(t, d, func(db *sql.DB) {
			damage, err := sqlitefile.Check(t.Context(), db, "")
			if damage != "" {
				t.Errorf("read %d: damage %q", n, damage)
			}
			if unreadable, ok := errors.AsType[*sqlitefile.Unreadable](err); ok {
				said++
				if unreadable.Code()&0xff != 10 || strings.Contains(err.Error(), "\n") {
					t.Errorf("read %d: code %d, %q", n, unreadable.Code(), err)
				}
			}
		})
	}
	if said == 0 {
		t.Errorf("of %d reads that failed, none was found by the check", reads)
	}
	t.Logf("%d reads, %d found by the check, the others by SQLite", reads, said)
}

// TestDamageIsFound overwrites each page but the first with nonsense, some of which names pages that do not exist.
func TestDamageIsFound(t *testing.T) {
	d := disk(t)
	whole, err := d.Read("f")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := page; at < len(whole); at += page {
		damaged := powercut.New()
		spoilt := append([]byte(nil), whole...)
		for i := at; i < at+page; i++ {
			spoilt[i] ^= 0x5a
		}
		if err := damaged.Append("f", spoilt); err != nil {
			t.Fatal(err)
		}
		on(t, damaged, func(db *sql.DB) {
			damage, err := sqlitefile.Check(t.Context(), db, "")
			if err != nil {
				t.Errorf("page %d: %v", at/page+1, err)
			}
			if damage != "" {
				found++
			}
		})
	}
	if pages := len(whole)/page - 1; found != pages {
		t.Errorf("damage was found in %d of %d pages", found, pages)
	}
}
