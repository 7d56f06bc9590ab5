package server_test

import (
	"database/sql"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue"
)

// TestDamagedMessagesAreCountedAndSaid changes the body of a message behind the back of the queue, as a broken memory
// does.
func TestDamagedMessagesAreCountedAndSaid(t *testing.T) {
	dir := t.TempDir()
	s, err := queue.Open(queue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = s.CreateQueue(t.Context(), "jobs", nil, nil)
	if err == nil {
		_, err = s.Send(t.Context(), "jobs", []queue.Outgoing{{Body: "one"}, {Body: "two"}})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	pages, err := sqlitefile.Seal("", false)
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Unmount()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "queues.db")+"?vfs="+pages.Name())
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("UPDATE messages SET body = 'tow' WHERE body = 'two'")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = queue.Open(queue.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := newWorld(t, func(w *world) { w.queues = s })
	wants(t, w.ask("GET", "/metrics", ""), http.StatusOK, `muster_queue_damaged_messages{queue="jobs"} 0`)
	wants(t, w.ask("GET", "/v1/queues/jobs/messages", ""), http.StatusOK, `"body":"one"`, `"state":"damaged"`,
		`"damaged":"message `)
	got, err := s.Receive(t.Context(), "jobs", queue.ReceiveOptions{Max: 10})
	if err != nil || len(got) != 1 {
		t.Fatalf("received %d messages, %v", len(got), err)
	}
	wants(t, w.ask("GET", "/metrics", ""), http.StatusOK, `muster_queue_damaged_messages{queue="jobs"} 1`)
	wants(t, w.ask("GET", "/v1/status", ""), http.StatusOK, `"damaged_messages":{"jobs":1}`,
		`"faults":["queue jobs: 1 message is damaged and set aside, never delivered: muster queue peek jobs --from damaged"]`)
	wants(t, w.ask("GET", "/v1/queues/jobs/messages?from=damaged", ""), http.StatusOK, `"state":"damaged"`)
}
