package queue

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/queue/check"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// olderSchemas are the tables of the first versions; each goes on where the one before ended.
var olderSchemas = []string{`
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE queues (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, attributes TEXT NOT NULL, tags TEXT NOT NULL,
	created INTEGER NOT NULL, modified INTEGER NOT NULL, floor INTEGER NOT NULL);
CREATE TABLE messages (seq INTEGER PRIMARY KEY, queue_id INTEGER NOT NULL, sent INTEGER NOT NULL, visible INTEGER NOT NULL,
	received INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, carried INTEGER NOT NULL, message_id BLOB NOT NULL,
	group_id TEXT, dedup_id TEXT, sequence TEXT, source TEXT, attributes TEXT, body TEXT NOT NULL);
CREATE TABLE deduplication (queue_id INTEGER NOT NULL, dedup_id TEXT NOT NULL, seq INTEGER NOT NULL, message_id BLOB NOT NULL,
	expires INTEGER NOT NULL, PRIMARY KEY (queue_id, dedup_id)) WITHOUT ROWID;
`, `
CREATE TABLE moves (id INTEGER PRIMARY KEY, queue_id INTEGER NOT NULL, destination TEXT NOT NULL, rate INTEGER NOT NULL,
	status TEXT NOT NULL, failure TEXT NOT NULL, started INTEGER NOT NULL, moved INTEGER NOT NULL, to_move INTEGER NOT NULL);
`}

// olderQueueFile makes a file as the given version wrote it, with a message.
func olderQueueFile(t *testing.T, version int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "queues.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, one := range olderSchemas[:version] {
		text += one
	}
	_, err = db.Exec(text + fmt.Sprintf(`
		PRAGMA application_id = %d;
		PRAGMA user_version = %d;
		INSERT INTO meta VALUES ('secret', zeroblob(32)), ('epoch', 3);
		INSERT INTO queues VALUES (1, 'q', '{"VisibilityTimeout":"7"}', '{}', 1, 1, 0);
		INSERT INTO messages VALUES (7, 1, %[3]d, %[3]d, 0, 0, 0, 0, zeroblob(16), 'tenant', NULL, NULL, NULL, NULL, 'old');
		PRAGMA journal_mode = WAL`, storage.ApplicationID, version, time.Now().UnixMilli()))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAnOlderFileIsBroughtForward opens files as the first versions wrote them, as they are and after an upgrade that
// was cut short.
func TestAnOlderFileIsBroughtForward(t *testing.T) {
	for older := 1; older <= 2; older++ {
		for _, cutShort := range []bool{false, true} {
			t.Run(fmt.Sprintf("of version %d, after one that was cut short: %t", older, cutShort), func(t *testing.T) {
				dir := olderQueueFile(t, older)
				if cutShort {
					for _, name := range []string{"queues.db.new", "queues.db.new-wal", "queues.db-mark"} {
						if err := os.WriteFile(filepath.Join(dir, name), []byte("half of it"), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
				for range 2 {
					s := open(t, Options{Dir: dir})
					got := must(s.Peek(t.Context(), "q", 10, AnyState))(t)
					if len(got) != 1 || got[0].Body != "old" || got[0].GroupID != "tenant" {
						t.Errorf("found %+v", got)
					}
					if all, err := s.Moves("q"); err != nil || len(all) != 0 {
						t.Errorf("moves %+v, %v", all, err)
					}
					if a := must(s.Attributes("q"))(t); a["VisibilityTimeout"] != "7" {
						t.Errorf("attributes %v", a)
					}
					if state(s).LastSeq < 4<<machine.SeqBits {
						t.Errorf("the openings are counted anew: sequence %d", state(s).LastSeq)
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if got := version(t, dir); got != storage.SchemaVersion {
					t.Errorf("version %d, want %d", got, storage.SchemaVersion)
				}
			})
		}
	}
}

// olderLog returns the log of an older program with a frame of each group of operations.
func olderLog(t *testing.T, generation uint64, groups ...[]machine.Op) []byte {
	t.Helper()
	log := make([]byte, 64<<10)
	at := int64(0)
	for number, ops := range groups {
		l := oplog.Log{Generation: generation, Number: uint32(number)}
		b := l.Begin(nil)
		for i := range ops {
			from := len(b)
			b, _ = oplog.AppendOp(b, &ops[i])
			if ops[i].Kind == machine.OpInsert { // no checksum followed the id
				sum := from + 1 + len(oplog.AppendRow(nil, &ops[i].Row)) + 16
				b = slices.Delete(b, sum, sum+4)
			}
		}
		l.Finish(b)
		copy(log[at:], b)
		at += oplog.Sectors(len(b))
	}
	return log
}

// TestTheLogOfAnOlderProgramIsBroughtForward opens a directory as an older program left it that was killed.
func TestTheLogOfAnOlderProgramIsBroughtForward(t *testing.T) {
	const generation = 77
	now := time.Now().UnixMilli()
	sent := func(seq uint64, body string) machine.Op {
		r := machine.Row{Numbers: machine.Numbers{Seq: seq}, Queue: 1}
		r.Sent, r.Visible = now, now
		return machine.Op{Kind: machine.OpInsert, Row: r, Record: &machine.Record{ID: newID(), Body: body}}
	}
	later := machine.Row{Numbers: machine.Numbers{Seq: 7}, Queue: 1}
	later.Sent, later.Visible, later.Count = now, now, 2
	groups := [][]machine.Op{{sent(8, "new"), sent(9, "deleted")}, {{Kind: machine.OpUpdate, Row: later}},
		{{Kind: machine.OpRemove, Seq: 9}}}
	whole := olderLog(t, generation, groups...)
	torn := slices.Clone(whole)
	torn[2*oplog.SectorBytes+oplog.FrameHead] ^= 1 // of the last frame
	damaged := slices.Clone(whole)
	damaged[40] ^= 1 // of the first one
	for name, row := range map[string]struct {
		log  []byte
		want []string // bodies
		is   error
	}{
		"whole": {whole, []string{"old", "new"}, nil}, "half written": {torn, []string{"old", "new", "deleted"}, nil},
		"of another generation": {olderLog(t, 5, groups...), []string{"old"}, nil},
		"damaged":               {damaged, nil, ErrCorruptFile}, "missing": {nil, nil, ErrCorruptFile},
	} {
		t.Run(name, func(t *testing.T) {
			dir := olderQueueFile(t, 2)
			db := must(sql.Open("sqlite", "file:"+filepath.Join(dir, "queues.db")))(t)
			_, err := db.Exec(fmt.Sprintf("INSERT INTO meta VALUES ('log', %d); PRAGMA user_version = %d; UPDATE "+
				"messages SET sent = %d", generation, storage.OlderLogged, now))
			if err = errors.Join(err, db.Close()); err == nil && row.log != nil {
				err = os.WriteFile(filepath.Join(dir, "queues.log"), row.log, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s, err := Open(Options{Dir: dir})
				if row.is != nil {
					if !errors.Is(err, row.is) {
						t.Errorf("opened: %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				var bodies []string
				for _, p := range must(s.Peek(t.Context(), "q", 10, AnyState))(t) {
					bodies = append(bodies, p.Body)
					if p.Body == "old" && name == "whole" && p.ReceiveCount != 2 {
						t.Errorf("received %d times, want 2", p.ReceiveCount)
					}
				}
				if !slices.Equal(bodies, row.want) {
					t.Errorf("found %q, want %q", bodies, row.want)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if found := must(check.Files(t.Context(), dir, check.Options{At: time.Now()}))(t); !found.Whole() {
					t.Errorf("the check finds %+v", found)
				}
				if err := os.WriteFile(filepath.Join(dir, "queues.log"), row.log,
					0o600); err != nil { // a power cut kept it from being removed
					t.Fatal(err)
				}
			}
		})
	}
}
