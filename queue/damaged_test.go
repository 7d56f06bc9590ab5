package queue

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/check"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// spoilContent changes the bodies of the given messages behind the back of the seals, as memory that is broken may.
func spoilContent(t *testing.T, dir string, seqs ...uint64) {
	t.Helper()
	pages := must(sqlitefile.Seal("", false))(t)
	defer pages.Unmount()
	db := must(sql.Open("sqlite", storage.Dsn(filepath.Join(dir, "queues.db"), pages.Name())))(t)
	defer db.Close()
	for _, seq := range seqs {
		if _, err := db.Exec("UPDATE messages SET body = 'B' || substr(body, 2) WHERE seq = ?",
			int64(seq)); err != nil {
			t.Fatal(err)
		}
	}
}

// withDamaged returns a service with the messages a, b and c in the named queue, of which b is damaged.
func withDamaged(t *testing.T, name string, attributes map[string]string, log *slog.Logger) (s *Service,
	damaged uint64) {
	t.Helper()
	dir := t.TempDir()
	s = open(t, Options{Dir: dir})
	mustCreate(t, s, name, attributes)
	for _, body := range []string{"a", "b", "c"} {
		out := Outgoing{Body: body}
		if attributes["FifoQueue"] == "true" {
			out.GroupID, out.DeduplicationID = "g", body
		}
		must(s.Send(t.Context(), name, []Outgoing{out}))(t)
	}
	damaged = state(s).LastSeq - 1
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoilContent(t, dir, damaged)
	return open(t, Options{Dir: dir, Logger: log}), damaged
}

// TestADamagedMessageIsSetAsideAndReported checks that it is not delivered, blocks no other message and is reported.
func TestADamagedMessageIsSetAsideAndReported(t *testing.T) {
	for name, attributes := range map[string]map[string]string{"q": nil, "q.fifo": {"FifoQueue": "true"}} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s, seq := withDamaged(t, name, attributes, slog.New(slog.NewTextHandler(&log, nil)))
			got := must(s.Receive(t.Context(), name, ReceiveOptions{Max: 1}))(t)
			if len(got) != 1 || got[0].Body != "a" {
				t.Fatalf("received %+v", got)
			}
			mustDelete(t, s, name, got[0].Receipt)

			got, err := s.Receive(t.Context(), name, ReceiveOptions{Max: 1})
			wrong, ok := errors.AsType[*DamagedMessage](err)
			if !ok || !errors.Is(err, ErrDamagedMessage) || wrong.Sequence != seq || wrong.Queue != name ||
				len(got) != 0 {
				t.Fatalf("received %+v, %v", got, err)
			}
			if !strings.Contains(err.Error(), fmt.Sprint(seq)) ||
				!strings.Contains(err.Error(), "muster queue check") ||
				!strings.Contains(log.String(), fmt.Sprint(seq)) {
				t.Errorf("said: %v; logged: %s", err, log.String())
			}
			if c := must(s.Counts(name))(t); c.Damaged != 1 || c.Visible != 1 || c.InFlight != 0 {
				t.Errorf("counts %+v", c)
			}
			if all := s.Damaged(); len(all) != 1 || all[0].Sequence != seq || time.Since(all[0].Sent) > time.Minute {
				t.Errorf("damaged: %+v", all)
			}
			peeked := must(s.Peek(t.Context(), name, 10, StateDamaged))(t)
			if len(peeked) != 1 || peeked[0].Damaged == nil || peeked[0].Body != "" {
				t.Errorf("peeked %+v", peeked)
			}

			if got = must(s.Receive(t.Context(), name, ReceiveOptions{Max: 10}))(t); len(got) != 1 ||
				got[0].Body != "c" {
				t.Errorf("received %+v, want the message after it", got)
			}
			if err := s.Purge(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if c := must(s.Counts(name))(t); c.Damaged != 0 {
				t.Errorf("counts after a purge: %+v", c)
			}
		})
	}
}

// TestADamagedMessageComesBackAfterARestart holds that it stays in the file, and is found again.
func TestADamagedMessageComesBackAfterARestart(t *testing.T) {
	s, seq := withDamaged(t, "q", nil, nil)
	dir := filepath.Dir(s.store.(*storage.SqliteStore).Path)
	for range 2 {
		lease := time.Duration(0)
		got := must(s.Receive(t.Context(), "q", ReceiveOptions{Max: 10, Visibility: &lease}))(t)
		if len(got) != 2 {
			t.Errorf("received %d messages, want the two that are whole", len(got))
		}
		if all := s.Damaged(); len(all) != 1 || all[0].Sequence != seq {
			t.Errorf("damaged: %+v", all)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		found := must(check.Files(t.Context(), dir, check.Options{At: time.Now()}))(t)
		if len(found.Damaged) != 1 || found.Damaged[0].Sequence != seq || found.Damaged[0].ID == "" ||
			found.Messages != 2 {
			t.Errorf("the check finds %+v", found)
		}
		s = open(t, Options{Dir: dir})
	}
}

// TestAnExportNamesTheDamagedMessages holds that it writes all others.
func TestAnExportNamesTheDamagedMessages(t *testing.T) {
	s, seq := withDamaged(t, "q", nil, nil)
	var out bytes.Buffer
	n, err := s.Export(t.Context(), "q", &out)
	if n != 2 || strings.Count(out.String(), "\n") != 2 || !errors.Is(err, ErrDamagedMessage) ||
		!strings.Contains(err.Error(), fmt.Sprint(seq)) {
		t.Errorf("exported %d, %v", n, err)
	}
}

// TestACourierIsToldOfADamagedMessage receives as the endpoint does.
func TestACourierIsToldOfADamagedMessage(t *testing.T) {
	s, _ := withDamaged(t, "q", nil, nil)
	e := newErrands(s)
	defer e.end()
	lease := time.Minute
	for _, want := range []string{"a", "", "c"} {
		got, err := e.service().receive(t.Context(), "q", ReceiveOptions{Max: 1, Visibility: &lease})
		if want == "" && !errors.Is(err, ErrDamagedMessage) || want != "" &&
			(err != nil || len(got) != 1 || got[0].Body != want) {
			t.Errorf("received %+v, %v; want %q", got, err, want)
		}
	}
}

// spoilOverflow flips a bit in each page of the closed file in dir that has nothing but a part of a body of many b.
func spoilOverflow(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "queues.db")
	content := must(os.ReadFile(path))(t)
	spoilt := 0
	for at := 0; at < len(content); at += sqlitefile.PageBytes {
		if page := content[at : at+sqlitefile.PageBytes]; bytes.Count(page, []byte("b")) > sqlitefile.PageBytes-100 {
			page[100] ^= 1
			spoilt++
		}
	}
	if spoilt == 0 {
		t.Fatal("there are no such pages")
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedPageDoesNotStopTheQueue damages the rest of a long body. Whatever is done to that message, the others are
// received and sent as before, now and after a restart.
func TestADamagedPageDoesNotStopTheQueue(t *testing.T) {
	for name, do := range map[string]func(*testing.T, *Service){
		"received": func(t *testing.T, s *Service) {
			for range 2 {
				got, _ := s.Receive(t.Context(), "q", ReceiveOptions{Max: 10, Visibility: new(time.Duration)})
				for _, m := range got {
					if m.Body != "a" && m.Body != "c" {
						t.Errorf("received %.10q", m.Body)
					}
				}
			}
		},
		"purged": func(t *testing.T, s *Service) {
			if err := s.Purge(t.Context(), "q"); err != nil {
				t.Error(err)
			}
		},
		"received and purged": func(t *testing.T, s *Service) {
			s.Receive(t.Context(), "q", ReceiveOptions{Max: 10, Visibility: new(time.Duration)})
			if err := s.Purge(t.Context(), "q"); err != nil {
				t.Error(err)
			}
		},
		"in a deleted queue": func(t *testing.T, s *Service) {
			if err := s.DeleteQueue(t.Context(), "q"); err != nil {
				t.Error(err)
			}
		},
		"moved": func(t *testing.T, s *Service) {
			mustCreate(t, s, "source",
				map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:local:000000000000:q","maxReceiveCount":2}`})
			for range 2 {
				s.Receive(t.Context(), "q", ReceiveOptions{Max: 10, Visibility: new(time.Duration)})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, Options{Dir: dir})
			mustCreate(t, s, "q", nil)
			mustCreate(t, s, "other", nil)
			mustSend(t, s, "q", "a", strings.Repeat("b", 20_000), "c")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			spoilOverflow(t, dir)
			s = open(t, Options{Dir: dir})
			do(t, s)
			for range 18 { // without a log and with one
				mustSend(t, s, "other", "goes on")
				if err := s.SetAttributes(t.Context(), "other",
					map[string]string{"VisibilityTimeout": "7"}); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, Options{Dir: dir})
				wantCounts(t, s, "other", 18, 0, 0)
				mustSend(t, s, "other", "goes on")
				mustDelete(t, s, "other", must(s.Receive(t.Context(), "other", ReceiveOptions{Max: 1}))(t)[0].Receipt)
			}
			if name != "received" && name != "moved" && name != "in a deleted queue" {
				wantCounts(t, s, "q", 0, 0, 0)
			}
		})
	}
}

// TestADamagedListOfUnusedPagesIsTold damages what only storing and removing needs.
func TestADamagedListOfUnusedPagesIsTold(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "a", strings.Repeat("b", 20_000))
	if err := s.Close(); err != nil { // so that there is a row in the table
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir})
	for _, m := range must(s.Receive(t.Context(), "q", ReceiveOptions{Max: 10}))(t)[1:] {
		mustDelete(t, s, "q", m.Receipt)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "queues.db")
	content := must(os.ReadFile(path))(t)
	trunk := int(binary.BigEndian.Uint32(content[32:]))
	if trunk == 0 {
		t.Fatal("there are no unused pages")
	}
	content[(trunk-1)*sqlitefile.PageBytes+4000] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrCorruptFile) ||
		!strings.Contains(err.Error(), "muster queue check --data "+dir) {
		t.Errorf("opened: %v", err)
	}
	found := must(check.Files(t.Context(), dir, check.Options{Repair: true, At: time.Now()}))(t)
	if len(found.Findings) != 1 || !strings.Contains(found.Findings[0].Found, "unused pages") || found.Messages == 0 ||
		len(found.Missing) > 0 {
		t.Errorf("found %+v", found)
	}
	s = open(t, Options{Dir: dir})
	mustSend(t, s, "q", strings.Repeat("c", 20_000))
	wantCounts(t, s, "q", found.Messages, 1, 0)
}
