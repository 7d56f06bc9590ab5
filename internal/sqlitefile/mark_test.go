package sqlitefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// TestAMarkHoldsTheNewestPosition writes positions, each after the one before or, as a second process may, some later;
// then it damages one sector: no more than the newest position may be lost, and none is invented.
func TestAMarkHoldsTheNewestPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mark")
	rapid.Check(t, func(rt *rapid.T) {
		first := sqlitefile.Position{Identity: rapid.Uint64().Draw(rt, "identity"),
			Commit: rapid.Uint64Range(0, 1<<60).Draw(rt, "commit")}
		if err := os.WriteFile(path, sqlitefile.NewMark(first), 0o600); err != nil {
			rt.Fatal(err)
		}
		m, err := sqlitefile.OpenMark(sqlitefile.MarkPath(path), first)
		if err != nil {
			rt.Fatal(err)
		}
		defer m.Close()
		written := []sqlitefile.Position{first}
		for range rapid.IntRange(0, 20).Draw(rt, "writes") {
			next := written[len(written)-1]
			next.Commit++
			next.Rows = rapid.Uint64().Draw(rt, "rows")
			written = append(written, next)
			if err := m.Write(next, rapid.Bool().Draw(rt, "sync")); err != nil {
				rt.Fatal(err)
			}
			if late := len(written) - 1 - rapid.IntRange(1, 5).Draw(rt, "late"); late > 0 {
				if err := m.Write(written[late], false); err != nil {
					rt.Fatal(err)
				}
			}
		}
		newest := written[len(written)-1]
		b, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		if p, err := sqlitefile.ParseMark(b); p != newest || err != nil {
			rt.Fatalf("found %+v, %v; want %+v", p, err, newest)
		}
		b[rapid.IntRange(0, sqlitefile.MarkBytes-1).Draw(rt, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		p, err := sqlitefile.ParseMark(b)
		switch {
		case len(written) == 1 && errors.Is(err, sqlitefile.ErrDamagedMark):
		case err != nil || p != newest && (len(written) < 2 || p != written[len(written)-2]):
			rt.Fatalf("damaged: found %+v, %v; want %+v, or the one before", p, err, newest)
		}
		if _, err := sqlitefile.ParseMark(make([]byte, sqlitefile.MarkBytes)); !errors.Is(err,
			sqlitefile.ErrDamagedMark) {
			rt.Fatalf("of zeros: %v", err)
		}
	})
}
