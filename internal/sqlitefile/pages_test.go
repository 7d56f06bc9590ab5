package sqlitefile_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

// sealed opens the file at path with sealed pages.
func sealed(t *testing.T, base, path string, lenient bool, use func(*sqlitefile.Pages, *sql.DB)) {
	t.Helper()
	p, err := sqlitefile.Seal(base, lenient)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Unmount()
	db, err := sql.Open("sqlite", "file:"+path+
		"?_pragma=journal_mode(WAL)&_pragma=cache_size(5)&_pragma=synchronous(OFF)&vfs="+p.Name())
	if err != nil {
		t.Fatal(err)
	}
	use(p, db)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// sealedFile makes a file of many pages and returns its path.
func sealedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, sqlitefile.Blank(0x4d555351, 7), 0o600); err != nil {
		t.Fatal(err)
	}
	sealed(t, "", path, false, func(p *sqlitefile.Pages, db *sql.DB) {
		for _, text := range []string{"CREATE TABLE t (body TEXT)", "CREATE INDEX i ON t (body)",
			"PRAGMA wal_autocheckpoint = 5"} {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 40 {
			if _, err := db.Exec("INSERT INTO t VALUES (?)", strings.Repeat("x", n*500)); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range []string{"DELETE FROM t WHERE length(body) BETWEEN 5000 AND 9000",
			"INSERT INTO t SELECT body || 'y' FROM t WHERE length(body) < 3000"} {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		if found := p.Damaged(); len(found) > 0 {
			t.Errorf("pages %v were found damaged", found)
		}
	})
	return path
}

// readAll reads every page that is in use.
func readAll(db *sql.DB) (version int, err error) {
	const ask = "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version"
	if err := db.QueryRow(ask).Scan(new(int), &version); err != nil {
		return 0, err
	}
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil {
		return version, err
	}
	if verdict != "ok" {
		return version, errors.New(verdict)
	}
	var sum int
	return version, db.QueryRow("SELECT sum(length(body || '')) FROM t").Scan(&sum)
}

func TestAFileWithSealsIsAnOrdinaryOne(t *testing.T) {
	path := sealedFile(t)
	sealed(t, "", path, false, func(p *sqlitefile.Pages, db *sql.DB) {
		if version, err := readAll(db); version != 7 || err != nil || len(p.Damaged()) > 0 {
			t.Errorf("version %d, %v, damaged %v", version, err, p.Damaged())
		}
	})
	plain, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if version, err := readAll(plain); version != 7 || err != nil {
		t.Errorf("without seals: version %d, %v", version, err)
	}
}

// TestEachBitOfAPageIsSealed flips bits in every page, its seal and the file's header among them.
func TestEachBitOfAPageIsSealed(t *testing.T) {
	path := sealedFile(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	harmless := 0
	for at := 0; at < len(whole); at += 2503 {
		number := uint32(at/sqlitefile.PageBytes) + 1
		spoilt := slices.Clone(whole)
		spoilt[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		sealed(t, "", path, false, func(p *sqlitefile.Pages, db *sql.DB) {
			_, err := readAll(db)
			switch {
			case err == nil && len(p.Damaged()) == 0:
				harmless++ // nobody needs the page
			case err == nil:
				t.Errorf("byte %d: page %v was found damaged, and read", at, p.Damaged())
			case number > 1 && !slices.Equal(p.Damaged(), []uint32{number}):
				t.Errorf("byte %d of page %d: %v; noted pages %v", at, number, err, p.Damaged())
			}
		})
		sealed(t, "", path, true, func(p *sqlitefile.Pages, db *sql.DB) {
			readAll(db)
			if found := p.Damaged(); len(found) > 0 && !slices.Equal(found, []uint32{number}) {
				t.Errorf("byte %d of page %d, without seals that count: noted pages %v", at, number, found)
			}
		})
	}
	if pages := len(whole) / sqlitefile.PageBytes; harmless > len(whole)/2503/3 {
		t.Errorf("of %d damages in %d pages, %d made no difference", len(whole)/2503, pages, harmless)
	}
}

// TestWhatAnotherProgramWritesHasNoSeal is what keeps a person who opened the file with another program from being told
// that all is well.
func TestWhatAnotherProgramWritesHasNoSeal(t *testing.T) {
	path := sealedFile(t)
	plain, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = plain.Exec("UPDATE t SET body = 'z' WHERE body = ''")
	if err := errors.Join(err, plain.Close()); err != nil {
		t.Fatal(err)
	}
	sealed(t, "", path, false, func(p *sqlitefile.Pages, db *sql.DB) {
		if _, err := readAll(db); err == nil || len(p.Damaged()) == 0 {
			t.Errorf("%v, pages %v", err, p.Damaged())
		}
	})
}

// TestSealsLieOverAnyFileSystem uses the disk in memory, and two connections.
func TestSealsLieOverAnyFileSystem(t *testing.T) {
	d := powercut.New()
	if err := d.Append("f", sqlitefile.Blank(1, 7)); err != nil {
		t.Fatal(err)
	}
	base, err := d.Mount()
	if err != nil {
		t.Fatal(err)
	}
	sealed(t, base, "f", false, func(_ *sqlitefile.Pages, db *sql.DB) {
		if _, err := db.Exec("CREATE TABLE t (body TEXT)"); err != nil {
			t.Fatal(err)
		}
		sealed(t, base, "f", false, func(_ *sqlitefile.Pages, other *sql.DB) {
			for _, db := range []*sql.DB{db, other, db} {
				if _, err := db.Exec("INSERT INTO t VALUES (?)", strings.Repeat("x", 10_000)); err != nil {
					t.Fatal(err)
				}
			}
		})
		if _, err := readAll(db); err != nil {
			t.Error(err)
		}
	})
	if err := d.Unmount(); err != nil {
		t.Error(err)
	}
	b, err := d.Read("f")
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n*sqlitefile.PageBytes < len(b); n++ {
		if !sqlitefile.CheckPage(uint32(n)+1, b[n*sqlitefile.PageBytes:][:sqlitefile.PageBytes]) {
			t.Errorf("page %d has no seal", n+1)
		}
	}
}

func TestAnUnknownFileSystemIsAnError(t *testing.T) {
	if _, err := sqlitefile.Seal("nobody knows it", false); err == nil ||
		!strings.Contains(err.Error(), "nobody knows it") {
		t.Error(err)
	}
}

// TestADamagedPageSizeIsFound changes the size of pages in the file's header, which SQLite believes before it reads a
// page.
func TestADamagedPageSizeIsFound(t *testing.T) {
	path := sealedFile(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]byte{{2, 0}, {4, 0}, {8, 0}, {0x20, 0}, {0x40, 0}, {0x80, 0}, {0, 1}, {0, 0}, {0x11, 0}} {
		spoilt := slices.Clone(whole)
		copy(spoilt[16:], size[:])
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		sealed(t, "", path, false, func(p *sqlitefile.Pages, db *sql.DB) {
			if _, err := readAll(db); err == nil {
				t.Errorf("size %x: the file was read", size)
			}
		})
	}
}

// TestTheLastPageIsWrittenAfterTheOthers cuts the power at all moments of checkpoints, and takes the write-ahead log
// away. A last page that says what was committed last must be right then; one that says less tells that something is
// missing.
func TestTheLastPageIsWrittenAfterTheOthers(t *testing.T) {
	d := powercut.New()
	if err := d.Append("f", sqlitefile.Blank(1, 7)); err != nil {
		t.Fatal(err)
	}
	base, err := d.Mount()
	if err != nil {
		t.Fatal(err)
	}
	var cuts []*powercut.Disk
	var committed []int // at each cut
	now := 0
	bytes := writeWithLastPage(t, base, func(n int) {
		if now = n; n == 4 {
			d.Before(func(powercut.Op) error {
				cuts, committed = append(cuts, d.Cut(uint64(len(cuts)))), append(committed, now)
				return nil
			})
		}
	})
	if err := d.Unmount(); err != nil {
		t.Fatal(err)
	}
	complete, behind, torn := 0, 0, 0
	for i, c := range cuts {
		c.Remove("f-wal")
		base, err := c.Mount()
		if err != nil {
			t.Fatal(err)
		}
		sealed(t, base, "f", false, func(_ *sqlitefile.Pages, db *sql.DB) {
			var said, sum int
			if err := db.QueryRow("SELECT n FROM said").Scan(&said); err != nil {
				return // half written: told as well
			}
			err := db.QueryRow("SELECT total(length(body)) FROM t").Scan(&sum)
			whole := err == nil && sum == bytes[said]
			switch {
			case said >= committed[i] && !whole:
				t.Errorf("cut %d: it says %d, which has %d bytes, and has %d, %v", i, said, bytes[said], sum, err)
			case said >= committed[i]:
				complete++
			case whole:
				behind++
			default:
				torn++
			}
		})
		if err := c.Unmount(); err != nil {
			t.Error(err)
		}
	}
	if complete == 0 || behind == 0 || torn == 0 {
		t.Errorf("of %d cuts, %d files were complete, %d of an earlier time, %d of two times; want some of each",
			len(cuts), complete, behind, torn)
	}
}

// writeWithLastPage writes rows to a file whose second page says how many, and returns the bytes of all after each. It
// tells of each that was committed.
func writeWithLastPage(t *testing.T, base string, committed func(n int)) (bytes []int) {
	t.Helper()
	p, err := sqlitefile.Seal(base, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Unmount()
	p.WriteLast(2)
	db, err := sql.Open("sqlite",
		"file:f?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(0)&vfs="+p.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(texts ...string) {
		for _, text := range texts {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	run("CREATE TABLE said (n INTEGER)", "INSERT INTO said VALUES (0)", "CREATE TABLE t (body TEXT)",
		"PRAGMA wal_checkpoint")
	bytes, sum := []int{0}, 0
	for n := 1; n <= 12; n++ {
		sum += 1000 * n
		bytes = append(bytes, sum)
		run("BEGIN", fmt.Sprintf("INSERT INTO t VALUES (printf('%%.*c', %d, 'x'))", 1000*n),
			fmt.Sprintf("UPDATE said SET n = %d", n), "COMMIT")
		committed(n)
		if n%4 == 0 {
			run("PRAGMA wal_checkpoint")
		}
	}
	return bytes
}
