package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/misuse"
)

// DoneVariable names the log file to which a worker's program adds a line for each message it has finished.
const DoneVariable = "MUSTER_DONE_LOG"

// maxSleep bounds the work on one message.
const maxSleep = 12 * time.Hour

// Sleep is the work on a message of the demo and of test load: it sleeps for the duration in the body. Then it adds a
// line to the file of [DoneVariable], if that is set; the environment describes the message. A body that is no duration
// from 0s to 12h is an error about the request.
func Sleep(in io.Reader, began time.Time) error {
	// A duration is short; a longer body is refused below.
	body, err := io.ReadAll(io.LimitReader(in, 64))
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(strings.TrimSpace(string(body)))
	if err != nil || d < 0 || d > maxSleep {
		return misuse.Errorf("the message body: found %.20q, allowed is a duration of at most 12h, such as 1.25s", body)
	}
	// Sleeping uses no processor, so 150 workers run on a small machine as on a large one.
	time.Sleep(d)
	path := os.Getenv(DoneVariable)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return WriteDone(f, os.Getenv("MUSTER_QUEUE"), os.Getenv("MUSTER_MESSAGE_ID"), os.Getenv("MUSTER_SENT_AT"),
		os.Getppid(), began)
}

// WriteDone logs a message that is finished now: its queue and id, when it was sent, the time now, the process id of
// its worker, and when the work began. It is a single write, so that lines of several workers do not mix.
func WriteDone(w io.Writer, queue, id, sentAt string, worker int, began time.Time) error {
	_, err := fmt.Fprintf(w, "%s %s %s %s %d %s\n", queue, id, sentAt, time.Now().UTC().Format(time.RFC3339Nano),
		worker,
		began.UTC().Format(time.RFC3339Nano))
	return err
}
