//go:build linux

package realcrash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
)

// TestEachAcknowledgementComesAfterASync lists the system calls of the program while a client sends one message after
// the other: before each answer, and after the one before, the log of the queue must have been synced. Before the first
// one, the name of the new data directory must have been, too.
func TestEachAcknowledgementComesAfterASync(t *testing.T) {
	slow(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is missing; install it (apt-get install strace), or leave MUSTER_SLOW unset")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	p := install(t, dir, build(t))
	p.wrap = []string{strace, "-f", "-y", "-s", "300", "-o", trace, "-e", "trace=fdatasync,fsync,write,sendto,/^mkdir"}
	p.start(t)
	const messages = 50
	c := p.client()
	var ids []string
	for i := range messages {
		out, err := c.SendMessage(t.Context(),
			&sqs.SendMessageInput{QueueUrl: p.queue(), MessageBody: aws.String(fmt.Sprint("message ", i))})
		if err != nil {
			p.kill()
			t.Fatal(err)
		}
		ids = append(ids, *out.MessageId)
	}
	p.stop(t)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	events := read(string(text))
	if err := errors.Join(syncedBeforeEach(events, ids),
		namedBefore(events, filepath.Join(dir, "data"), ids[0])); err != nil {
		t.Error(err)
	}
	t.Logf("%d acknowledgements, each after a sync", len(ids))
}

// event is a system call of a trace: one of its fields is set.
type event struct {
	made   string // the directory that was made
	synced string // the file or directory whose sync succeeded
	wrote  string // the call that writes
}

var (
	traceLine = regexp.MustCompile(`^(\d+) +(.*)$`)
	syncBegan = regexp.MustCompile(`^(?:fdatasync|fsync)\(\d+<([^>]*)>`)
	dirBegan  = regexp.MustCompile(`^mkdir(?:at)?\([^"]*"([^"]*)"`)
)

// read returns the events of a trace: writes when they begin, all others when they have ended.
func read(trace string) (events []event) {
	pending := map[string]event{} // by thread
	for line := range strings.Lines(trace) {
		m := traceLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		thread, call := m[1], m[2]
		if strings.HasPrefix(call, "write(") {
			events = append(events, event{wrote: call})
		} else if synced := syncBegan.FindStringSubmatch(call); synced != nil {
			pending[thread] = event{synced: synced[1]}
		} else if made := dirBegan.FindStringSubmatch(call); made != nil {
			pending[thread] = event{made: made[1]}
		}
		if strings.HasSuffix(call, "<unfinished ...>") {
			continue
		}
		if e := pending[thread]; e != (event{}) && strings.HasSuffix(call, " = 0") {
			events = append(events, e)
		}
		delete(pending, thread)
	}
	return events
}

// syncedBeforeEach wants a successful sync of a log, SQLite's or the queue's own, between the answers with the given
// ids.
func syncedBeforeEach(events []event, ids []string) error {
	synced, next := false, 0
	for _, e := range events {
		if strings.HasSuffix(e.synced, "queues.db-wal") || strings.HasSuffix(e.synced, "queues.log") {
			synced = true
		}
		if next < len(ids) && strings.Contains(e.wrote, ids[next]) {
			if !synced {
				return fmt.Errorf("answer %d, with id %s, was written before a sync of the log", next, ids[next])
			}
			synced = false
			next++
		}
	}
	if next < len(ids) {
		return fmt.Errorf("the trace shows %d answers, want %d", next, len(ids))
	}
	return nil
}

// namedBefore wants the directory made, and then the one above it synced, before the answer with the given id.
func namedBefore(events []event, dir, id string) error {
	made := slices.Index(events, event{made: dir})
	if made < 0 {
		return fmt.Errorf("the trace does not show that %s was made", dir)
	}
	answer := slices.IndexFunc(events, func(e event) bool { return strings.Contains(e.wrote, id) })
	if !slices.Contains(events[made:max(made, answer)], event{synced: filepath.Dir(dir)}) {
		return fmt.Errorf("the first answer was written before the name of %s was synced", dir)
	}
	return nil
}

func TestTheTraceIsReadRightly(t *testing.T) {
	const (
		made     = "7 mkdirat(AT_FDCWD</>, \"/d\", 0700) = 0\n"
		old      = "7 mkdirat(AT_FDCWD</>, \"/d\", 0700) = -1 EEXIST (File exists)\n"
		named    = "7 fsync(3</>) = 0\n"
		sync     = "7 fdatasync(9</d/queues.db-wal>) = 0\n"
		ownSync  = "7 fdatasync(9</d/queues.log>) = 0\n"
		another  = "7 fdatasync(9</d/history.db-wal>) = 0\n"
		failed   = "7 fdatasync(9</d/queues.db-wal>) = -1 EIO\n"
		began    = "7 fsync(9</d/queues.db-wal> <unfinished ...>\n"
		ended    = "7 <... fsync resumed>) = 0\n"
		answered = "8 write(5<socket:[1]>, \"HTTP/1.1 200 OK id-1\", 30) = 30\n"
	)
	for _, row := range []struct {
		name, trace string
		fine        bool
	}{
		{"a sync before the answer", made + named + sync + answered, true},
		{"a sync of the queue's own log before the answer", made + named + ownSync + answered, true},
		{"no sync", made + named + answered, false},
		{"a sync after the answer", made + named + answered + sync, false},
		{"a sync of another file", made + named + another + answered, false},
		{"a sync that failed", made + named + failed + answered, false},
		{"a sync that ended before the answer", made + named + began + ended + answered, true},
		{"a sync that ended after the answer", made + named + began + answered + ended, false},
		{"no answer at all", made + named + sync, false},
		{"a directory whose name is not synced", made + sync + answered, false},
		{"a directory whose name was synced before it was made", named + made + sync + answered, false},
		{"a directory whose name is synced after the answer", made + sync + answered + named, false},
		{"a directory that was there", old + named + sync + answered, false},
	} {
		events := read(row.trace)
		if err := errors.Join(syncedBeforeEach(events, []string{"id-1"}),
			namedBefore(events, "/d", "id-1")); (err == nil) != row.fine {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// TestAFullDiskIsSaidAndLosesNothing runs the program on a disk that is too small for a log of the queue's own, and on
// one that has room for it.
func TestAFullDiskIsSaidAndLosesNothing(t *testing.T) {
	slow(t)
	for _, size := range []string{"1m", "12m"} {
		t.Run("of "+size, func(t *testing.T) { fillDisk(t, size) })
	}
}

func fillDisk(t *testing.T, size string) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a small disk: %v; run as root, or leave MUSTER_SLOW unset", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	p := install(t, dir, build(t))
	p.start(t)
	c := p.client()
	a := &account{sent: map[int]bool{}, deleting: map[int]bool{}, deleted: map[int]bool{}}
	for err := error(nil); err == nil; {
		a.next++
		n := a.next - 1
		_, err = c.SendMessage(t.Context(),
			&sqs.SendMessageInput{QueueUrl: p.queue(), MessageBody: aws.String(fmt.Sprint(n, "|", filling(n)))})
		if err == nil {
			a.sent[n] = true
			continue
		}
		if api, ok := errors.AsType[smithy.APIError](err); !ok || !strings.Contains(api.ErrorMessage(), "full") {
			p.kill()
			t.Fatalf("after %d sends: %v; want an error that says that the disk is full\n%s", len(a.sent), err,
				p.output)
		}
	}
	p.kill()
	p.start(t) // on the full disk
	there := drain(t, p, a)
	for n := range a.sent {
		if !there[n] {
			t.Errorf("message %d was acknowledged, and it is lost", n)
		}
	}
	if _, err := c.SendMessage(t.Context(),
		&sqs.SendMessageInput{QueueUrl: p.queue(), MessageBody: aws.String("room")}); err != nil {
		t.Errorf("a send after everything was deleted: %v", err)
	}
	p.stop(t)
	t.Logf("%d messages were acknowledged before the disk was full", len(a.sent))
}
