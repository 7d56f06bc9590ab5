package queue

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
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
		PRAGMA journal_mode = WAL`, applicationID, version, time.Now().UnixMilli()))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAnOlderFileIsBroughtForward opens files as the first versions wrote them, as they are and after an upgrade that was cut
// short.
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
					if s.st.lastSeq < 4<<seqBits {
						t.Errorf("the openings are counted anew: sequence %d", s.st.lastSeq)
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if got := version(t, dir); got != schemaVersion {
					t.Errorf("version %d, want %d", got, schemaVersion)
				}
			})
		}
	}
}

// TestALogOfAnOlderProgramIsForThatProgram holds that nothing of it is lost.
func TestALogOfAnOlderProgramIsForThatProgram(t *testing.T) {
	dir := olderQueueFile(t, 2)
	path := filepath.Join(dir, "queues.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(fmt.Sprintf("PRAGMA user_version = %d", olderLogged))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s, err := Open(Options{Dir: dir}); !errors.Is(err, ErrNewerFile) {
			t.Errorf("opened: %v, %v", s, err)
		}
	}
}
