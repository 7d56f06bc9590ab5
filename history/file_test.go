package history_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func record(at time.Time, kind muster.RecordKind, body string) muster.Record {
	return muster.Record{At: at, Kind: kind, Body: []byte(body)}
}

// store is what both histories offer beside the port.
type store interface {
	muster.History
	Prune(ctx context.Context, now time.Time, keep time.Duration) (history.Pruned, error)
	Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error)
	Get(ctx context.Context, fleet string, seq int64) (muster.Record, error)
	Fleets(ctx context.Context) ([]string, error)
}

// fill begins the stream of a fleet and appends the records.
func fill(t *testing.T, h muster.History, fleet string, records ...muster.Record) muster.Position {
	t.Helper()
	p, err := h.Begin(t.Context(), fleet)
	if err != nil {
		t.Fatal(err)
	}
	for len(records) > 0 {
		n := min(len(records), history.MaxBatch)
		if p, err = h.Append(t.Context(), fleet, p, records[:n]...); err != nil {
			t.Fatal(err)
		}
		records = records[n:]
	}
	return p
}

// written makes a file with one record, changes it with SQL statements and returns its path.
func written(t *testing.T, change string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.db")
	h, err := history.Open(path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, h, "a", record(noon, muster.Changed, `"one"`))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, change)
	return path
}

func execute(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheOwnerMayReadTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "directory")
	fill(t, openFile(t, filepath.Join(dir, "history.db"), history.Options{}), "a", record(noon, muster.Changed, `1`))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v in the directory", files, err)
	}
	for _, f := range files {
		if stat, err := f.Info(); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v), want 0600", f.Name(), stat.Mode(), err)
		}
	}
	if stat, err := os.Stat(dir); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v (%v), want 0700", stat.Mode(), err)
	}
}

func TestRefusedFilesAreLeftAsTheyAre(t *testing.T) {
	tests := []struct {
		name string
		path func(t *testing.T) string
		want string
	}{
		{"a file that is no database", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "notes.txt")
			if err := os.WriteFile(path, bytes.Repeat([]byte("notes\n"), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, "the file is damaged"},
		{"the database of another program", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "other.db")
			execute(t, path, "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
			return path
		}, "an SQLite file of another program (application id 0x0)"},
		{"a file from a newer program", func(t *testing.T) string {
			return written(t, "PRAGMA user_version = 99")
		}, "found version 99 of the file, this program knows versions up to 2"},
		{"a file cut short", func(t *testing.T) string {
			path := written(t, "")
			if err := os.Truncate(path, 2*4096); err != nil {
				t.Fatal(err)
			}
			return path
		}, "the file is damaged"},
		{"a file with a page overwritten", func(t *testing.T) string {
			path := written(t, "")
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(bytes.Repeat([]byte{0xAA}, 4096), 2*4096); err != nil {
				t.Fatal(err)
			}
			return path
		}, "the file is damaged"},
		{"a directory", func(t *testing.T) string { return t.TempDir() }, "allowed is a file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := test.path(t)
			before := contents(t, filepath.Dir(path))
			h, err := history.Open(path, history.Options{})
			if err == nil {
				h.Close()
				t.Fatal("the file was opened")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("found error %q, want one with %q and the path", err, test.want)
			}
			after := contents(t, filepath.Dir(path))
			if len(before) != len(after) {
				t.Errorf("found %d files beside it, want %d", len(after), len(before))
			}
			for name, content := range before {
				if !bytes.Equal(content, after[name]) {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// contents returns the files of a directory.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

func TestPathsWithOddCharacters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=ro&x#1%41.db")
	fill(t, openFile(t, path, history.Options{}), "a", record(noon, muster.Changed, `1`))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestReadingOnlyWhileAnotherWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	if _, err := history.OpenReadOnly(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening nothing to read: found error %v, want one about a missing file", err)
	}
	h := openFile(t, path, history.Options{})
	p := fill(t, h, "b", record(noon, muster.Changed, `"one"`))
	fill(t, h, "a")
	r, err := history.OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := h.Append(t.Context(), "b", p, record(noon, muster.Changed, `"two"`)); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Get(t.Context(), "b", 2); err != nil || string(got.Body) != `"two"` {
		t.Errorf("Get(2) = %s, %v, want what was appended after opening", got.Body, err)
	}
	if fleets, err := r.Fleets(t.Context()); err != nil || strings.Join(fleets, " ") != "a b" {
		t.Errorf("Fleets = %q, %v, want a and b", fleets, err)
	}
}

func TestAHistoryWithoutWriterCanBeRead(t *testing.T) {
	path := written(t, "")
	before := contents(t, filepath.Dir(path))[filepath.Base(path)]
	r, err := history.OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Last(t.Context(), "a", 10); err != nil || len(got) != 1 {
		t.Errorf("Last = %v, %v, want one record", got, err)
	}
	r.Close()
	if !bytes.Equal(before, contents(t, filepath.Dir(path))[filepath.Base(path)]) {
		t.Error("reading changed the file")
	}
}

func TestAFullHistoryRefusesAndLosesNothing(t *testing.T) {
	h := openFile(t, filepath.Join(t.TempDir(), "history.db"), history.Options{MaxBytes: 1 << 20})
	p := fill(t, h, "a", record(noon.Add(-30*24*time.Hour), muster.Changed, `"first"`))
	large := `"` + strings.Repeat("x", 50_000) + `"`
	var err error
	for range 100 {
		var next muster.Position
		if next, err = h.Append(t.Context(), "a", p, record(noon.Add(-20*24*time.Hour), muster.Decided, large),
			record(noon, muster.Changed, `"small"`)); err != nil {
			break
		}
		p = next
	}
	if !errors.Is(err, history.ErrFull) || !strings.Contains(err.Error(), "free the disk or keep less history") {
		t.Fatalf("found error %v, want ErrFull and what to do", err)
	}
	var n int64
	if err := h.Read(t.Context(), "a", time.Time{}, func(muster.Record) bool { n++; return true }); err != nil ||
		n != p.Seq {
		t.Fatalf("after the refusal %d records can be read (%v), want the %d that were acknowledged", n, err, p.Seq)
	}
	if pruned, err := h.Prune(t.Context(), noon, 0); err != nil || pruned.Removed == 0 {
		t.Fatalf("Prune of a full history = %+v, %v", pruned, err)
	}
	if _, err := h.Append(t.Context(), "a", p, record(noon, muster.Decided, large)); err != nil {
		t.Errorf("after Prune made room: %v", err)
	}
}

func TestABoundTooSmallIsRefused(t *testing.T) {
	if _, err := history.Open(filepath.Join(t.TempDir(), "h.db"), history.Options{MaxBytes: 1}); err == nil {
		t.Error("a bound of one byte was taken")
	}
}

// The files are copied while they are open, as a crash of the process would leave them.
func TestACrashLosesNothingThatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	h := openFile(t, path, history.Options{})
	p := fill(t, h, "a")
	for range 20 {
		var err error
		if p, err = h.Append(t.Context(), "a", p, record(noon, muster.Changed, `1`),
			record(noon, muster.Changed, `2`)); err != nil {
			t.Fatal(err)
		}
		left := t.TempDir()
		for name, content := range contents(t, filepath.Dir(path)) {
			// The index of the log is shared memory: a crashed machine has none.
			if strings.HasSuffix(name, "-shm") {
				continue
			}
			if err := os.WriteFile(filepath.Join(left, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again := openFile(t, filepath.Join(left, "history.db"), history.Options{})
		if got, err := again.Begin(t.Context(), "a"); err != nil || got.Seq != p.Seq || got.Epoch != p.Epoch+1 {
			t.Fatalf("after a crash at %+v the stream begins at %+v, %v", p, got, err)
		}
		if got := read(t, again, "a"); int64(len(got)) != p.Seq {
			t.Fatalf("after a crash at %+v there are %d records", p, len(got))
		}
	}
}
