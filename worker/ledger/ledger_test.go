package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker"
)

func ledger(t *testing.T, dir string) *Ledger {
	t.Helper()
	l, err := OpenLedger(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func begins(t *testing.T, l *Ledger, m worker.Message, want int) {
	t.Helper()
	if n, err := l.Begin(t.Context(), m); n != want || err != nil {
		t.Errorf("attempt %d, %v; want %d", n, err, want)
	}
}

func does(t *testing.T, f func(context.Context, worker.Message) error, m worker.Message) {
	t.Helper()
	if err := f(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func TestLedgerCountsAttemptsAcrossRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	m, other, namesake := worker.Message{Queue: "q", ID: "m"}, worker.Message{Queue: "q",
		ID: "n"}, worker.Message{Queue: "p", ID: "m"}
	l := ledger(t, dir)
	begins(t, l, m, 1)
	begins(t, l, m, 2)
	begins(t, l, other, 1)
	begins(t, l, namesake, 1)
	does(t, l.GiveBack, m) // interrupted
	begins(t, l, m, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = ledger(t, dir)
	begins(t, l, m, 3)
	does(t, l.Forget, m)
	begins(t, l, m, 1)
	does(t, l.GiveBack, other)
	does(t, l.GiveBack, other) // nothing is left to give back
	begins(t, l, other, 1)
	if s, err := os.Stat(filepath.Join(dir, "attempts.db")); err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", s.Mode(), err)
	}
}

func TestLedgerMayBeInAnyDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"here", ".", "a b/c?d#e%20", filepath.Join(t.TempDir(), "é")} {
		l := ledger(t, dir)
		begins(t, l, worker.Message{ID: "m"}, 1)
		if _, err := os.Stat(filepath.Join(dir, "attempts.db")); err != nil {
			t.Error(err)
		}
	}
}

// TestLedgerIsMadeOnceByWorkersThatStartTogether opens a new one from many sides.
func TestLedgerIsMadeOnceByWorkersThatStartTogether(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			l, err := OpenLedger(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = l.Close() }()
			if _, err := l.Begin(t.Context(), worker.Message{ID: "m"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	begins(t, ledger(t, dir), worker.Message{ID: "m"}, 9)
}

// TestLedgerIsSharedByWorkersOfAMachine has two of them count the same messages at the same time.
func TestLedgerIsSharedByWorkersOfAMachine(t *testing.T) {
	dir := t.TempDir()
	ledgers := []*Ledger{ledger(t, dir), ledger(t, dir)}
	var wg sync.WaitGroup
	for _, l := range ledgers {
		for range 4 {
			wg.Go(func() {
				for i := range 20 {
					if _, err := l.Begin(t.Context(), worker.Message{Queue: "q", ID: fmt.Sprint(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for i := range 20 {
		begins(t, ledgers[0], worker.Message{Queue: "q", ID: fmt.Sprint(i)}, 9)
	}
}

func TestLedgerIsBounded(t *testing.T) {
	l := ledger(t, t.TempDir())
	l.most = 3
	for i := range 5 {
		begins(t, l, worker.Message{ID: fmt.Sprint(i)}, 1)
	}
	if _, err := l.db.Exec("UPDATE attempts SET touched = touched - 5 + CAST(id AS INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if err := l.tidy(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	remembers(t, l, 3)
	begins(t, l, worker.Message{ID: "4"}, 2)
	begins(t, l, worker.Message{ID: "0"}, 1)
	if err := l.tidy(t.Context(), time.Now().Add(ledgerKeep+time.Minute)); err != nil {
		t.Fatal(err)
	}
	remembers(t, l, 0)
}

func remembers(t *testing.T, l *Ledger, want int) {
	t.Helper()
	var n int
	if err := l.db.QueryRow("SELECT count(*) FROM attempts").Scan(&n); err != nil || n != want {
		t.Errorf("it remembers %d messages, %v; want %d", n, err, want)
	}
}

func TestLedgerTidiesUpWhileItCounts(t *testing.T) {
	l := ledger(t, t.TempDir())
	l.most = 1
	for i := range ledgerTidy + 1 {
		begins(t, l, worker.Message{ID: fmt.Sprint(i)}, 1)
	}
	remembers(t, l, 3) // one was kept, and two have come since
}

func TestLedgerRefusesFilesThatAreNotItsOwn(t *testing.T) {
	tests := []struct {
		name, says string
		make       func(path string) error
	}{
		{"of something else", "something else (application id 0x7)", execute("PRAGMA application_id=7")},
		{"with tables of somebody's", "something else", execute("CREATE TABLE t (x)")},
		{"of a later version", "version 9, this program knows versions up to 1",
			execute(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=9", ledgerApplication))},
		{"no database", "not a database",
			func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("text", 300)), 0o600) }},
		{"a directory", "is a directory", func(path string) error { return os.Mkdir(path, 0o700) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := test.make(filepath.Join(dir, ledgerFile)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(filepath.Join(dir, ledgerFile))
			_, err := OpenLedger(t.Context(), dir)
			if err == nil || !strings.Contains(err.Error(), test.says) ||
				!strings.Contains(err.Error(), "move the file away") {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, ledgerFile)); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func execute(text string) func(path string) error {
	return func(path string) error {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		_, err = db.Exec(text)
		return errors.Join(err, db.Close())
	}
}

func BenchmarkLedger(b *testing.B) {
	l, err := OpenLedger(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for i := 0; b.Loop(); i++ {
		m := worker.Message{Queue: "q", ID: fmt.Sprint(i)}
		if _, err := l.Begin(b.Context(), m); err != nil {
			b.Fatal(err)
		}
		if err := l.Forget(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}
