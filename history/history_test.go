package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/sqlitefile"
)

var ctx = context.Background()

func TestMigrationsGoForwardInOneTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	h, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p, err := h.Begin(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Append(ctx, "a", p, muster.Record{At: time.Unix(0, 0), Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	grown := append(append([]string{}, migrations...), "ALTER TABLE records ADD COLUMN extra TEXT")
	if err := migrate(ctx, h.writer, append(grown, "CREATE TABLE half (x); nonsense"), 1); err == nil {
		t.Fatal("a migration that fails was taken")
	}
	if v, _ := pragma(ctx, h.writer, "user_version"); v != len(migrations) {
		t.Errorf("after a failed migration the version is %d, want %d", v, len(migrations))
	}
	var n int
	err = h.writer.QueryRow("SELECT count(*) FROM pragma_table_info('records') WHERE name = 'extra'").Scan(&n)
	if err != nil || n != 0 {
		t.Errorf("a failed migration left its first step behind (%d, %v)", n, err)
	}
	if err := migrate(ctx, h.writer, grown, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Get(ctx, "a", 1); err != nil {
		t.Errorf("after a migration the record is gone: %v", err)
	}
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "use the newer program") {
		t.Errorf("the older program opened the migrated file: %v", err)
	}
}

func TestReadingDoesNotWaitForAWriter(t *testing.T) {
	h, err := Open(filepath.Join(t.TempDir(), "history.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p, err := h.Begin(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Append(ctx, "a", p, muster.Record{At: time.Unix(0, 0), Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	err = h.write(ctx, "hold the writer", func(tx *sql.Tx) error {
		if _, err := tx.Exec("DELETE FROM records"); err != nil {
			return err
		}
		if _, err := h.Get(ctx, "a", 1); err != nil {
			t.Errorf("a read during a write: %v", err)
		}
		return errors.New("enough")
	})
	if err == nil {
		t.Error("a failed write was acknowledged")
	}
	if _, err := h.Get(ctx, "a", 1); err != nil {
		t.Errorf("a failed write left its trace: %v", err)
	}
}

// failure is an error with a result code, as the driver gives.
type failure int

func (f failure) Error() string { return fmt.Sprintf("result code %d", int(f)) }
func (f failure) Code() int     { return int(f) }

func TestAfterAFailedSyncNothingIsAcknowledged(t *testing.T) {
	h, err := Open(filepath.Join(t.TempDir(), "history.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.write(ctx, "fill the disk",
		func(*sql.Tx) error { return failure(sqlitefile.CodeFull) }); !errors.Is(err, ErrFull) {
		t.Errorf("a full disk gives %v, want ErrFull", err)
	}
	if _, err := h.Begin(ctx, "a"); err != nil {
		t.Errorf("after a full disk: %v", err)
	}
	if err := h.write(ctx, "sync", func(*sql.Tx) error { return failure(sqlitefile.CodeSync) }); err == nil {
		t.Fatal("a failed sync was acknowledged")
	}
	if _, err := h.Begin(ctx, "a"); err == nil || !strings.Contains(err.Error(), "the disk failed") {
		t.Errorf("after a failed sync: found error %v, want the reason", err)
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	for code, want := range map[int]string{
		sqlitefile.CodeFull: "free the disk", sqlitefile.CodeIO | 3<<8: "system's log",
		sqlitefile.CodeCorrupt: "move it away", sqlitefile.CodeNotADB: "move it away",
		sqlitefile.CodeReadOnly | 1<<8: "are writable", sqlitefile.CodeCantOpen: "are writable",
		sqlitefile.CodeBusy: "another process", 1: "result code 1",
	} {
		if err := explain("/data/history.db", "append", failure(code)); !strings.Contains(err.Error(), want) ||
			code != 1 && !errors.As(err, new(failure)) {
			t.Errorf("result code %d: found %q, want %q and the cause", code, err, want)
		}
	}
}
