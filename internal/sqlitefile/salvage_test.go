package sqlitefile_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// salvaged makes a file with a log and returns the contents of both, and the rows of its table t, by key.
func salvaged(t *testing.T) (file, log []byte, root uint32, rows map[int64]string) {
	t.Helper()
	path, rows := sealedFile(t), map[int64]string{}
	sealed(t, "", path, false, func(_ *sqlitefile.Pages, db *sql.DB) {
		db.SetMaxOpenConns(1)
		if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 't'").Scan(&root); err != nil {
			t.Fatal(err)
		}
		for n := range 30 {
			if _, err := db.Exec("INSERT INTO t VALUES (?)", fmt.Sprint(n, strings.Repeat("z", n*300))); err != nil {
				t.Fatal(err)
			}
		}
		found, err := db.Query("SELECT rowid, body FROM t")
		if err != nil {
			t.Fatal(err)
		}
		for found.Next() {
			var key int64
			var body string
			if err := found.Scan(&key, &body); err != nil {
				t.Fatal(err)
			}
			rows[key] = body
		}
		if file, err = os.ReadFile(path); err == nil {
			log, err = os.ReadFile(path + "-wal")
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return file, log, root, rows
}

func TestAnImageHoldsWhatSQLiteReads(t *testing.T) {
	file, log, root, want := salvaged(t)
	if len(log) == 0 {
		t.Fatal("there is no log")
	}
	m := sqlitefile.NewImage(bytes.NewReader(file), int64(len(file)), log, false)
	got := map[int64]string{}
	last := int64(-1)
	m.Tree(1, func(sqlitefile.Node) {})
	m.Tree(root, func(n sqlitefile.Node) {
		for _, r := range n.Rows {
			if !n.Whole || !r.Whole || r.Key <= last || r.Key <= n.After || r.Key > n.Until {
				t.Errorf("row %d after %d on page %d, with keys from %d to %d: whole %t, %t", r.Key, last, n.Page,
					n.After, n.Until, n.Whole, r.Whole)
			}
			got[r.Key], last = r.Values[0].(string), r.Key
		}
	})
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !m.Free() || len(m.Damaged) > 0 {
		t.Errorf("pages %v are damaged", m.Damaged)
	}
}

// TestAnImageWithADamagedPageHoldsTheOtherRows damages each page of the table and its log.
func TestAnImageWithADamagedPageHoldsTheOtherRows(t *testing.T) {
	file, log, root, want := salvaged(t)
	read := func(file, log []byte) (whole int) {
		m := sqlitefile.NewImage(bytes.NewReader(file), int64(len(file)), log, true)
		count := func(n sqlitefile.Node) {
			for _, r := range n.Rows {
				switch body, ok := want[r.Key]; {
				case r.Whole && (!ok || len(r.Values) != 1 || r.Values[0] != body):
					t.Errorf("row %d is another one", r.Key)
				case r.Whole:
					whole++
				}
			}
		}
		m.Tree(root, count)
		m.Free()
		m.Strays(count)
		m.Rest(count)
		return whole
	}
	if n := read(file, log); n < len(want) {
		t.Errorf("undamaged: %d rows, want %d", n, len(want))
	}
	least := len(want)
	for at := 700; at < len(file); at += sqlitefile.PageBytes {
		file[at] ^= 1
		least = min(least, read(file, log))
		file[at] ^= 1
	}
	if least < len(want)/2 {
		t.Errorf("with a damaged page of the file as few as %d rows of %d were read", least, len(want))
	}
}

// FuzzImage reads files of any content.
func FuzzImage(f *testing.F) {
	page := sqlitefile.Blank(1, 1)
	f.Add(page, []byte(nil))
	f.Fuzz(func(t *testing.T, file, log []byte) {
		m := sqlitefile.NewImage(bytes.NewReader(file), int64(len(file)), log, true)
		m.Tree(1, func(sqlitefile.Node) {})
		m.Tree(2, func(sqlitefile.Node) {})
		m.Free()
		m.Strays(func(sqlitefile.Node) {})
		m.Rest(func(sqlitefile.Node) {})
	})
}
