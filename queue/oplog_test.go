package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// memoryLog is a log in memory.
type memoryLog struct{ content []byte }

func (m *memoryLog) WriteAt(b []byte, at int64) (int, error) { return copy(m.content[at:], b), nil }
func (m *memoryLog) Sync() error                             { return nil }
func (m *memoryLog) Close() error                            { return nil }

// anyOp draws an operation that a log takes.
func anyOp(t *rapid.T) machine.Op {
	text := rapid.OneOf(rapid.Just(""), rapid.String())
	id := func() (id [16]byte) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		return id
	}
	row := machine.Row{Numbers: machine.Numbers{
		Seq: rapid.Uint64().Draw(t, "seq"), Sent: rapid.Int64().Draw(t, "sent"),
		Visible: rapid.Int64().Draw(t, "visible"), Received: rapid.Int64().Draw(t, "received"),
		First: rapid.Int64().Draw(t, "first"), Count: rapid.Uint32().Draw(t, "count"),
		Carried: rapid.Uint32().Draw(t, "carried"),
	}, Queue: rapid.Uint32().Draw(t, "queue")}
	switch o := (machine.Op{Kind: rapid.SampledFrom([]machine.OpKind{machine.OpInsert, machine.OpUpdate, machine.OpMove,
		machine.OpRemove, machine.OpPutDedup, machine.OpDropDedup}).Draw(t, "kind")}); o.Kind {
	case machine.OpInsert:
		o.Row = row
		o.Record = &machine.Record{ID: id(), Group: text.Draw(t, "group"), Dedup: text.Draw(t, "dedup"),
			Source: text.Draw(t, "source"), Body: text.Draw(t, "body")}
		if attributes := text.Draw(t, "attributes"); attributes != "" {
			o.Record.Attributes = []byte(attributes)
		}
		return o
	case machine.OpUpdate:
		o.Row = row
		return o
	case machine.OpMove:
		o.Seq, o.Row, o.Source = rapid.Uint64().Draw(t, "from"), row, text.Draw(t, "source")
		return o
	case machine.OpRemove:
		o.Seq = row.Seq
		return o
	default:
		o.Dedup = &machine.DedupRow{Queue: row.Queue, Key: text.Draw(t, "key"), Seq: row.Seq, ID: id(),
			Expires: row.Sent}
		return o
	}
}

// TestALogReturnsWhatWasWritten also cuts the last frame short, damages one before it, and reads another
// generation.
func TestALogReturnsWhatWasWritten(t *testing.T) {
	all := gocmp.AllowUnexported(machine.Op{}, machine.Row{}, machine.Numbers{}, machine.Record{}, machine.DedupRow{})
	rapid.Check(t, func(rt *rapid.T) {
		file := &memoryLog{bytes.Repeat([]byte{0xa5}, 64<<10)} // what an older generation left
		l := &oplog.Log{Made: int64(len(file.content)), File: file}
		l.Restart(sqlitefile.Position{Identity: rapid.Uint64().Draw(rt, "identity"),
			Commit: rapid.Uint64Range(1, math.MaxUint64-1).Draw(rt, "commit")})
		var want, kept []machine.Op
		var last int64
		for range rapid.IntRange(1, 5).Draw(rt, "frames") {
			ops := rapid.SliceOfN(rapid.Custom(anyOp), 1, 4).Draw(rt, "ops")
			last, kept = l.At, slices.Clone(want)
			if fits, err := l.Append(ops); err != nil || !fits {
				rt.Fatalf("fits %t, %v", fits, err)
			}
			want = append(want, ops...)
		}
		check := func(what string, seed uint32, generation uint64, want []machine.Op) {
			got, err := oplog.Read(file.content, seed, generation)
			if diff := gocmp.Diff(want, got, all); diff != "" || err != nil {
				rt.Fatalf("%s: %v\n%s", what, err, diff)
			}
		}
		check("as it was written", l.Seed, l.Generation, want)
		check("beside tables that took it over", l.Seed, l.Generation+1, nil)
		check("beside another queue file", l.Seed+1, l.Generation, nil)
		if got, err := oplog.Read(file.content, l.Seed, l.Generation-1); err == nil {
			rt.Fatalf("beside earlier tables: %d operations", len(got))
		}

		whole := slices.Clone(file.content)
		cut := last + rapid.Int64Range(0, int64(len(l.Buffer))-1).Draw(rt, "cut")
		file.content[cut] ^= 0xff
		if got, err := oplog.Read(file.content, l.Seed, l.Generation); err == nil {
			rt.Fatalf("with the last frame damaged: %d operations", len(got))
		}
		clear(file.content[l.At : l.At+oplog.SectorBytes])
		check("with the last frame half written", l.Seed, l.Generation, kept)
		if last > 0 {
			copy(file.content, whole)
			file.content[rapid.IntRange(0, oplog.FrameHead-1).Draw(rt, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(rt,
				"bit")
			if got, err := oplog.Read(file.content, l.Seed, l.Generation); err == nil {
				rt.Fatalf("with a damaged first frame: %d operations", len(got))
			}
		}
	})
}

// TestALogTakesWhatFits fills a log of four sectors, of which one is for its end.
func TestALogTakesWhatFits(t *testing.T) {
	l := &oplog.Log{Made: 4 * oplog.SectorBytes, File: &memoryLog{make([]byte, 4*oplog.SectorBytes)}}
	l.Restart(sqlitefile.Position{Commit: 7})
	body := func(n int) []machine.Op {
		return []machine.Op{{Kind: machine.OpInsert, Record: &machine.Record{Body: string(make([]byte, n))}}}
	}
	for _, row := range []struct {
		name string
		ops  []machine.Op
		fits bool
		at   int64
	}{
		{"more than the log", body(3 * oplog.SectorBytes), false, 0},
		{"a sector and a bit", body(oplog.SectorBytes), true, 2 * oplog.SectorBytes},
		{"again", body(oplog.SectorBytes), false, 2 * oplog.SectorBytes},
		{"what only the tables take", []machine.Op{{Kind: machine.OpPutQueue, Queue: &machine.QueueRow{}}}, false,
			2 * oplog.SectorBytes},
		{"the last sector", body(100), true, 3 * oplog.SectorBytes},
		{"nothing more", []machine.Op{{Kind: machine.OpRemove, Seq: 1}}, false, 3 * oplog.SectorBytes},
	} {
		if fits, err := l.Append(row.ops); fits != row.fits || l.At != row.at || err != nil {
			t.Errorf("%s: fits %t, at %d, %v; want %t and %d", row.name, fits, l.At, err, row.fits, row.at)
		}
	}
}

// FuzzLogOperations holds that whatever a frame holds is refused, or means the same when it is written and read again.
func FuzzLogOperations(f *testing.F) {
	for _, o := range []machine.Op{
		{Kind: machine.OpInsert, Row: machine.Row{Numbers: machine.Numbers{Seq: 1, Sent: 2}, Queue: 3},
			Record: &machine.Record{Body: "b", Group: "g", Attributes: []byte("{}")}},
		{Kind: machine.OpMove, Seq: 1, Row: machine.Row{Numbers: machine.Numbers{Seq: 1 << 63}, Queue: 3}, Source: "s"},
		{Kind: machine.OpDropDedup, Dedup: &machine.DedupRow{Queue: 1, Key: "k", Seq: 2, Expires: -1}},
	} {
		b, _ := oplog.AppendOp(nil, &o)
		f.Add(b)
	}
	f.Add([]byte{byte(machine.OpRemove), 0xff})
	f.Fuzz(func(t *testing.T, payload []byte) {
		ops, err := oplog.ReadOps(payload, nil)
		if err != nil {
			return
		}
		var again []byte
		for i := range ops {
			var ok bool
			if again, ok = oplog.AppendOp(again, &ops[i]); !ok {
				t.Fatalf("%+v was read, and cannot be written", ops[i])
			}
		}
		got, err := oplog.ReadOps(again, nil)
		if diff := gocmp.Diff(ops, got, gocmp.AllowUnexported(machine.Op{}, machine.Row{}, machine.Numbers{},
			machine.Record{}, machine.DedupRow{})); diff != "" || err != nil {
			t.Fatalf("%q: %v\n%s", payload, err, diff)
		}
	})
}

// busy opens a queue in dir that has been used for long enough to have a log.
func busy(t *testing.T, dir string) *Service {
	t.Helper()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "q", nil)
	for range oplog.StartAfter + 1 {
		mustSend(t, s, "q", "in a table")
	}
	if _, err := os.Stat(filepath.Join(dir, "queues.log")); err != nil {
		t.Fatal(err)
	}
	mustSend(t, s, "q", "in the log")
	return s
}

// version returns the user_version of the file in dir without its write-ahead log.
func version(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "queues.db"))
	if err != nil {
		t.Fatal(err)
	}
	return int(binary.BigEndian.Uint32(b[storage.HeaderVersion:]))
}

// TestAClosedFileNeedsNoLog holds what lets an older program read it again.
func TestAClosedFileNeedsNoLog(t *testing.T) {
	dir := t.TempDir()
	s := busy(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "queues.log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
	if got := version(t, dir); got != storage.SchemaVersion {
		t.Errorf("version %d, want that of the schema, %d", got, storage.SchemaVersion)
	}
	wantCounts(t, open(t, Options{Dir: dir}), "q", oplog.StartAfter+2, 0, 0)
}

// TestAFileWithoutItsLogIsRefused takes the log away, or damages it, as nothing but a person or a broken disk does.
func TestAFileWithoutItsLogIsRefused(t *testing.T) {
	dir := t.TempDir()
	busy(t, dir)
	for name, spoil := range map[string]func(path string) error{
		"it is missing": os.Remove,
		"a frame is damaged": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[oplog.FrameHead] ^= 1
			}
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			names := []string{"queues.db", "queues.db-wal", "queues.db-mark", "queues.log"}
			for _, name := range names {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err == nil {
					err = os.WriteFile(filepath.Join(copied, name), b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := spoil(filepath.Join(copied, "queues.log")); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first try must not make it look whole
				if s, err := Open(Options{Dir: copied}); !errors.Is(err, ErrCorruptFile) {
					t.Errorf("opened: %v, %v", s, err)
				}
			}
		})
	}
}
