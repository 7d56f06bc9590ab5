package queue

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// crash copies the files as they are on disk, as a power cut would leave them,
// and opens the copy.
func crash(t *testing.T, dir string) *Service {
	t.Helper()
	copied := t.TempDir()
	for _, name := range []string{"queues.db", "queues.db-wal", "queues.db-mark", "queues.log"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if name == "queues.log" && errors.Is(err, fs.ErrNotExist) {
			continue // nothing needed one yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, Options{Dir: copied})
}

func bodies(messages []Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Body)
	}
	slices.Sort(out)
	return out
}

func TestWhatWasAcknowledgedSurvivesACrash(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "dead", nil)
	mustCreate(t, s, "q", map[string]string{"DelaySeconds": "0",
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:local:000000000000:dead","maxReceiveCount":1}`})
	mustCreate(t, s, "purged", nil)
	mustCreate(t, s, "dropped", nil)
	for _, name := range []string{"purged", "dropped"} {
		mustSend(t, s, name, "gone")
	}
	if err := errors.Join(s.Purge(t.Context(), "purged"), s.DeleteQueue(t.Context(), "dropped")); err != nil {
		t.Fatal(err)
	}
	mustSend(t, s, "purged", "after the purge")
	mustSend(t, s, "q", "deleted", "poison", "waits")
	got := take(t, s, "q")
	for _, m := range got {
		var err error
		switch m.Body {
		case "deleted":
			mustDelete(t, s, "q", m.Receipt)
		case "poison":
			err = change(t, s, "q", m.Receipt, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if more := take(t, s, "q"); len(more) != 0 {
		t.Fatalf("received %q, want the move to the dead-letter queue", bodies(more))
	}

	c := crash(t, dir)
	if got := c.Queues(); !slices.Equal(got, []string{"dead", "purged", "q"}) {
		t.Errorf("queues %q", got)
	}
	dead := takeOne(t, c, "dead")
	if dead.Body != "poison" || dead.Source != "q" || dead.ReceiveCount != 2 {
		t.Errorf("dead letter %+v", dead)
	}
	if got := bodies(take(t, c, "purged")); !slices.Equal(got, []string{"after the purge"}) {
		t.Errorf("purged queue holds %q", got)
	}
	n, err := c.Counts("q")
	if err != nil || n.Visible+n.InFlight != 1 {
		t.Errorf("q after the crash: %+v, %v; want the one message that was received and not deleted", n, err)
	}
	waits := got[slices.IndexFunc(got, func(m Message) bool { return m.Body == "waits" })]
	if err := change(t, c, "q", waits.Receipt, 60e9); err != nil {
		t.Errorf("its worker extends the lease after the crash: %v", err)
	}
	mustDelete(t, c, "q", waits.Receipt)
	wantCounts(t, c, "q", 0, 0, 0)
}

// TestAReceiptNeverHitsALaterMessage deletes the newest rows, so that their
// numbers could be given out again after a restart.
func TestAReceiptNeverHitsALaterMessage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "old")
	old := takeOne(t, s, "q")
	mustDelete(t, s, "q", old.Receipt)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir})
	mustSend(t, s, "q", "new")
	takeOne(t, s, "q")
	mustDelete(t, s, "q", old.Receipt)
	wantCounts(t, s, "q", 0, 1, 0)
}

func TestReopeningKeepsTheOrderAndTheContents(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemoryBytes: 1}) // nothing is cached
	mustCreate(t, s, "q", nil)
	out := Outgoing{Body: "with all", Attributes: map[string]Attribute{"b": {"Binary.x", []byte{0, 255}}}, Trace: "t",
		GroupID: "g"}
	if _, err := s.Send(t.Context(), "q", []Outgoing{out}); err != nil {
		t.Fatal(err)
	}
	mustSend(t, s, "q", "second", strings.Repeat("é", 300_000))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir, MemoryBytes: 1})
	got := take(t, s, "q")
	if len(got) != 3 || got[0].Body != "with all" || got[1].Body != "second" ||
		got[2].Body != strings.Repeat("é", 300_000) {
		t.Fatalf("received %d messages", len(got))
	}
	if m := got[0]; m.Attributes["b"].Type != "Binary.x" || string(m.Attributes["b"].Value) != "\x00\xff" ||
		m.Trace != "t" || m.GroupID != "g" {
		t.Errorf("content %+v", m)
	}
}

func TestManyClientsGetEveryMessageOnce(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemoryBytes: 20_000}) // some contents are read back
	mustCreate(t, s, "q", nil)
	const clients, each = 8, 40
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: fmt.Sprint(c, " ", i)}}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			wait := MaxWait
			for range each {
				got, err := s.Receive(t.Context(), "q", ReceiveOptions{Wait: &wait})
				if err != nil || len(got) != 1 {
					t.Errorf("%d messages, %v", len(got), err)
					return
				}
				if err := s.Delete(t.Context(), "q", []string{got[0].Receipt})[0]; err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen[got[0].Body]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != clients*each {
		t.Errorf("%d different messages, want %d", len(seen), clients*each)
	}
	wantCounts(t, s, "q", 0, 0, 0)
}

func TestASecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, Options{Dir: dir})
	_, err := Open(Options{Dir: dir})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("second open: %v; want ErrLocked with directory and process", err)
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "q", nil)
	for name, want := range map[string]os.FileMode{"": 0o700, "queues.db": 0o600, "queues.db-wal": 0o600,
		"lock": 0o600} {
		stat, err := os.Stat(filepath.Join(dir, name))
		if err != nil || stat.Mode().Perm() != want {
			t.Errorf("%q has mode %v, %v; want %v", name, stat.Mode().Perm(), err, want)
		}
	}
}

// A user who may put files into the directory could make the queue write elsewhere, or read foreign files.
func TestADirectoryThatOthersCouldPrepareIsRefused(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	for _, row := range []struct {
		name    string
		prepare func(dir string) error
		has     string
	}{
		{"all may write", func(dir string) error { return os.Chmod(dir, 0o777) }, "run: chmod go-w"},
		{"its group may write", func(dir string) error { return os.Chmod(dir, 0o770) }, "run: chmod go-w"},
		{"the lock leads elsewhere", func(dir string) error { return os.Symlink(victim, filepath.Join(dir, "lock")) },
			"a symbolic link at"},
		{"the reserve leads elsewhere", func(dir string) error {
			return os.Symlink(victim, filepath.Join(dir, "reserve"))
		}, "a symbolic link at"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := row.prepare(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
			if !errors.Is(err, ErrUnsafeDirectory) || !strings.Contains(err.Error(), row.has) {
				t.Errorf("found %v, want %v that says %q", err, ErrUnsafeDirectory, row.has)
			}
			if _, err := os.Lstat(victim); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it was written to: %v", err)
			}
		})
	}
}

// ours is a queue file with one queue and 200 messages.
func ours(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "q", nil)
	for range 200 {
		mustSend(t, s, "q", strings.Repeat("x", 500))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "queues.db"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// foreign is an SQLite file of another program.
func foreign(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("CREATE TABLE t (x)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAFileThatIsNotOursIsRefusedAndNotTouched(t *testing.T) {
	for _, row := range []struct {
		name string
		file func(t *testing.T) []byte
		want error
	}{
		{"a text file", func(*testing.T) []byte { return []byte(strings.Repeat("hello ", 100)) }, ErrForeignFile},
		{"a file shorter than a header", func(*testing.T) []byte { return []byte("SQLite format 3") }, ErrForeignFile},
		{"an SQLite file of another program", foreign, ErrForeignFile},
		{"a file of a newer version", func(t *testing.T) []byte {
			b := ours(t)
			binary.BigEndian.PutUint32(b[storage.HeaderVersion:], uint32(storage.SchemaVersion+1))
			return b
		}, ErrNewerFile},
		{"a file cut short", func(t *testing.T) []byte { b := ours(t); return b[:len(b)/2] }, ErrCorruptFile},
		{"a file with a damaged schema", func(t *testing.T) []byte {
			b := ours(t)
			clear(b[storage.HeaderSize:4096])
			return b
		}, ErrCorruptFile},
		{"a file with damaged messages", func(t *testing.T) []byte {
			b := ours(t)
			for i := 8 * 4096; i < len(b); i += 4096 {
				copy(b[i:], "\xff\xff\xff\xff\xff\xff\xff\xff")
			}
			return b
		}, ErrCorruptFile},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir, b := t.TempDir(), row.file(t)
			path := filepath.Join(dir, "queues.db")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(Options{Dir: dir})
			if !errors.Is(err, row.want) {
				t.Errorf("error %v, want %v", err, row.want)
			}
			if s != nil {
				s.Close()
			}
			if after, err := os.ReadFile(path); err != nil || !slices.Equal(after, b) {
				t.Errorf("the file was changed (%v)", err)
			}
			if lock, err := storage.LockDir(dir); err != nil {
				t.Errorf("the directory stays locked: %v", err)
			} else {
				lock.Close()
			}
		})
	}
}

func TestAFullDiskRefusesSendsAndLosesNothing(t *testing.T) {
	dir := t.TempDir()
	db := mustSQLite(t, dir)
	db.Log.Size = 0 // it would take what the tables have no room for
	if _, err := db.Db.Exec("PRAGMA max_page_count = 60"); err != nil {
		t.Fatal(err)
	}
	s, err := start(db, db, nil, defaultCacheBytes, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	mustCreate(t, s, "q", nil)
	body, sent := strings.Repeat("x", 4000), 0
	for {
		_, err := s.Send(t.Context(), "q", []Outgoing{{Body: body}})
		if errors.Is(err, ErrStorageFull) {
			break
		}
		if err != nil || sent > 100 {
			t.Fatalf("after %d sends: %v", sent, err)
		}
		sent++
	}
	wantCounts(t, s, "q", sent, 0, 0)
	for _, m := range take(t, s, "q") {
		mustDelete(t, s, "q", m.Receipt)
		sent--
	}
	mustSend(t, s, "q", body) // there is room again
	c := crash(t, dir)
	wantCounts(t, c, "q", sent+1, 0, 0)
}

// A disk may be so full that SQLite's file for several connections has no room, not even that of the reserve. The queue
// opens alone then, without that file, so that it is known what is there and messages are given out.
func TestAQueueThatIsOpenedAloneNeedsNoRoomBesideIt(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "kept")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "queues.db")
	mark := sqlitefile.MarkPath(path + sqlitefile.MarkSuffix)
	db, err := storage.OpenFile(t.Context(), path, "", nil, mark, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-shm"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made a file beside: %v", err)
	}
	if s, err = start(db, db, nil, defaultCacheBytes, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if got := bodies(take(t, s, "q")); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("found %q", got)
	}
}

func TestAnyDirectoryNameWorks(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"relative", "with space", "a?b=c&d", "per%20cent", "hash#tag", "a:b", "é"} {
		s := open(t, Options{Dir: dir})
		mustCreate(t, s, "q", nil)
		if err := s.Close(); err != nil {
			t.Errorf("directory %q: %v", dir, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "queues.db")); err != nil {
			t.Errorf("directory %q: %v", dir, err)
		}
	}
}
