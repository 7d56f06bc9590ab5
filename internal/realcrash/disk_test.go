//go:build linux

package realcrash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
)

// TestEachAcknowledgementComesAfterASync lists the system calls of the program while a client sends one message after the
// other: before each answer, and after the one before, the log of the queue must have been synced.
func TestEachAcknowledgementComesAfterASync(t *testing.T) {
	slow(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	p := install(t, dir, build(t))
	p.wrap = []string{strace, "-f", "-y", "-s", "300", "-o", trace, "-e", "trace=fdatasync,fsync,write,sendto"}
	p.start(t)
	const messages = 50
	c := p.client()
	var ids []string
	for i := range messages {
		out, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: p.queue(), MessageBody: aws.String(fmt.Sprint("message ", i))})
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
	if err := syncedBeforeEach(string(text), ids); err != nil {
		t.Error(err)
	}
	t.Logf("%d acknowledgements, each after a sync", len(ids))
}

var (
	traceLine = regexp.MustCompile(`^(\d+) +(.*)$`)
	syncBegan = regexp.MustCompile(`^(?:fdatasync|fsync)\(\d+<([^>]*)>`)
)

// syncedBeforeEach reads a trace: a successful sync of the log must have ended between the answers with the given ids.
func syncedBeforeEach(trace string, ids []string) error {
	pending := map[string]string{} // thread -> file whose sync has begun
	synced, next := false, 0
	for line := range strings.Lines(trace) {
		m := traceLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		thread, call := m[1], m[2]
		file := ""
		switch began := syncBegan.FindStringSubmatch(call); {
		case began != nil && strings.Contains(call, "<unfinished"):
			pending[thread] = began[1]
		case began != nil:
			file = began[1]
		case strings.HasPrefix(call, "<... fdatasync") || strings.HasPrefix(call, "<... fsync"):
			file = pending[thread]
		}
		if strings.HasSuffix(file, "queues.db-wal") && strings.HasSuffix(call, "= 0") {
			synced = true
		}
		if next < len(ids) && strings.HasPrefix(call, "write(") && strings.Contains(call, ids[next]) {
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

func TestTheTraceIsReadRightly(t *testing.T) {
	const (
		sync     = "7 fdatasync(9</d/queues.db-wal>) = 0\n"
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
		{"a sync before the answer", sync + answered, true},
		{"no sync", answered, false},
		{"a sync after the answer", answered + sync, false},
		{"a sync of another file", another + answered, false},
		{"a sync that failed", failed + answered, false},
		{"a sync that ended before the answer", began + ended + answered, true},
		{"a sync that ended after the answer", began + answered + ended, false},
		{"no answer at all", sync, false},
	} {
		if err := syncedBeforeEach(row.trace, []string{"id-1"}); (err == nil) != row.fine {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// TestAFullDiskIsSaidAndLosesNothing runs the program on a disk of one mebibyte.
func TestAFullDiskIsSaidAndLosesNothing(t *testing.T) {
	slow(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mounting a small disk needs rights that this user does not have: %v", err)
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
		_, err = c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: p.queue(), MessageBody: aws.String(fmt.Sprint(n, "|", filling(n)))})
		if err == nil {
			a.sent[n] = true
			continue
		}
		if api, ok := errors.AsType[smithy.APIError](err); !ok || !strings.Contains(api.ErrorMessage(), "full") {
			p.kill()
			t.Fatalf("after %d sends: %v; want an error that says that the disk is full\n%s", len(a.sent), err, p.output)
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
	if _, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: p.queue(), MessageBody: aws.String("room")}); err != nil {
		t.Errorf("a send after everything was deleted: %v", err)
	}
	p.stop(t)
	t.Logf("%d messages were acknowledged before the disk was full", len(a.sent))
}
