package queuetool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// access reads, exports and imports messages of the embedded queues.
type access interface {
	// Peek looks at messages without receiving them.
	Peek(ctx context.Context, name string, q server.PeekQuery) (server.PeekAnswer, error)
	// export writes every message as a line and returns their number. It first calls total with the expected number.
	export(ctx context.Context, name string, to io.Writer, total func(int)) (int, error)
	// load stores lines. A [queue.LineError] says which ones were stored; after another error that is unknown.
	load(ctx context.Context, name string, lines []byte) (queue.Imported, error)
}

// Queues are the queues that a command works on: those of the running muster up or, when none runs, those in its data
// directory. Only one goroutine at a time may use them.
type Queues struct {
	access
	// names are the scoped names of all queues, as of the opening.
	names   []string
	service *queue.Service // nil when a muster up runs
}

// Open opens the queues of the place. Until they are closed, no other process can open the data directory.
func Open(ctx context.Context, place client.Place) (*Queues, error) {
	c, err := place()
	if err != nil {
		return nil, err
	}
	// The API comes first: while muster up runs, its data directory is locked.
	var names server.QueueNames
	err = client.Get(ctx, c, "/v1/queues", &names)
	if err == nil {
		return &Queues{access: servedQueues{c}, names: names.Queues}, nil
	}
	if !errors.Is(err, client.ErrNotRunning) {
		return nil, err
	}
	// queue.Open would create missing files; an inspection must not.
	if _, missing := os.Stat(filepath.Join(c.Data, app.QueueFile)); errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; nor does %s hold queues", err, c.Data)
	}
	service, err := queue.Open(queue.Options{Dir: c.Data, Logger: slog.New(slog.DiscardHandler)})
	// Another program has the directory: probably a muster up with another configuration.
	if errors.Is(err, queue.ErrLocked) {
		return nil, fmt.Errorf("%w; if it is a muster up, name its configuration with -f: nothing answers at http://%s",
			err, c.Listen.API)
	}
	if err != nil {
		return nil, err
	}
	return &Queues{ownQueues{service, app.LastFailures(c.Data)}, service.Queues(), service}, nil
}

// Close releases the data directory.
func (o *Queues) Close() error {
	if o.service == nil {
		return nil
	}
	return o.service.Close()
}

// need returns an error when no queue has that name. The error suggests a similar name.
func (o *Queues) need(name string) error {
	if slices.Contains(o.names, name) {
		return nil
	}
	return client.NoQueue(name, o.names)
}

// With opens the queues of the place, calls do if the named one exists, and closes them. The error of closing counts:
// it may be that of a write.
func With(ctx context.Context, place client.Place, name string, do func(*Queues) error) error {
	o, err := Open(ctx, place)
	if err != nil {
		return err
	}
	if err = o.need(name); err == nil {
		err = do(o)
	}
	return errors.Join(err, o.Close())
}

// Names returns queue names for the completion of a command line: those of the running muster up, or else those in the
// configuration. It needs no data, so it is quick enough for a key press.
func Names(ctx context.Context, place client.Place) ([]string, error) {
	c, err := place()
	if err != nil {
		return nil, err
	}
	var names server.QueueNames
	if client.Get(ctx, c, "/v1/queues", &names) != nil {
		names.Queues = client.StatedQueues(c)
	}
	return names.Queues, nil
}

// servedQueues are the queues of the running muster up, reached through its HTTP API.
type servedQueues struct{ c *config.Config }

// queuePath is the path of the API for a queue. The name is escaped, because a scoped name holds colons.
func queuePath(name, rest string) string { return "/v1/queues/" + url.PathEscape(name) + "/" + rest }

// Peek implements access.
func (s servedQueues) Peek(ctx context.Context, name string, q server.PeekQuery) (a server.PeekAnswer, err error) {
	// The body is stated in full, because the default of the API may differ from that of the command.
	values := url.Values{"limit": {strconv.Itoa(q.Limit)}, "from": {q.From}, "body": {"full"}}
	if q.Short {
		values.Set("body", "short")
	}
	return a, client.Get(ctx, s.c, queuePath(name, "messages?"+values.Encode()), &a)
}

// export implements access. The count of messages comes in the trailer, after the last line: an answer without it was
// cut off.
func (s servedQueues) export(ctx context.Context, name string, to io.Writer, total func(int)) (int, error) {
	// There is no timeout: an export may take minutes.
	resp, err := client.Ask(ctx, s.c, http.MethodGet, queuePath(name, "export"), nil)
	if err != nil {
		return 0, errors.Join(ctx.Err(), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, client.Refused(resp)
	}
	if n, err := strconv.Atoi(resp.Header.Get(server.ExportTotal)); err == nil {
		total(n)
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return 0, fmt.Errorf("the export ended early: %w", err)
	}
	// The status was sent before the first line, so a later error can only come in the trailer.
	if text := resp.Trailer.Get(server.ExportError); text != "" {
		return 0, errors.New(text)
	}
	n, err := strconv.Atoi(resp.Trailer.Get(server.ExportCount))
	if err != nil {
		return 0, errors.New("the export ended early; is muster up still running?")
	}
	return n, nil
}

// loadPatience bounds one request of an import. It is longer than the time limit of the server.
const loadPatience = time.Minute

// load implements access. A refused request is an error of line 1, because nothing was stored. After a lost connection
// or an internal error it is unknown which lines were stored, so that is another error.
func (s servedQueues) load(ctx context.Context, name string, lines []byte) (queue.Imported, error) {
	ctx, stop := context.WithTimeout(ctx, loadPatience)
	defer stop()
	resp, err := client.Ask(ctx, s.c, http.MethodPost, queuePath(name, "messages"), bytes.NewReader(lines))
	// Nothing answered with this token, so nothing was stored.
	if errors.Is(err, client.ErrNotRunning) {
		return queue.Imported{}, &queue.LineError{Line: 1, Err: err}
	}
	if err != nil {
		if wrong, ok := errors.AsType[*url.Error](err); ok {
			err = wrong.Err
		}
		return queue.Imported{}, fmt.Errorf("the connection to muster up was lost: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	// Both answer with counts; the second also names the line that was refused.
	case http.StatusOK, http.StatusUnprocessableEntity:
	case http.StatusInternalServerError:
		return queue.Imported{}, client.Refused(resp)
	default:
		return queue.Imported{}, &queue.LineError{Line: 1, Err: client.Refused(resp)}
	}
	var l server.Loaded
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&l); err != nil {
		return queue.Imported{}, fmt.Errorf("read the answer: %w", err)
	}
	done := queue.Imported{Sent: l.Sent, Duplicates: l.Duplicates}
	if l.Error != "" {
		return done, &queue.LineError{Line: l.Line, Err: errors.New(l.Error)}
	}
	return done, nil
}

// ownQueues are the queues of a data directory that no muster up has open.
type ownQueues struct {
	service *queue.Service
	last    server.LastFailures
}

// Peek implements access.
func (o ownQueues) Peek(ctx context.Context, name string, q server.PeekQuery) (server.PeekAnswer, error) {
	a, err := server.Peek(ctx, o.service, name, q)
	if err == nil {
		a.Explain(ctx, o.last)
	}
	return a, err
}

// export implements access.
func (o ownQueues) export(ctx context.Context, name string, to io.Writer, total func(int)) (int, error) {
	counts, err := o.service.Counts(name)
	if err != nil {
		return 0, err
	}
	// Every message is in one of these states.
	total(counts.Visible + counts.InFlight + counts.Delayed)
	return o.service.Export(ctx, name, to)
}

// load implements access. A storage error leaves open which lines are on disk; every other error of a line does not.
func (o ownQueues) load(ctx context.Context, name string, lines []byte) (queue.Imported, error) {
	done, err := o.service.Import(ctx, name, bytes.NewReader(lines))
	wrong, isLine := errors.AsType[*queue.LineError](err)
	switch {
	case isLine && !errors.Is(err, queue.ErrStorage):
		return done, wrong
	case errors.Is(err, queue.ErrQueueNotFound):
		return done, &queue.LineError{Line: 1, Err: err}
	}
	return done, err
}
