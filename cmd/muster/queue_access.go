package main

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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// queueAccess looks at messages of the embedded queues and carries them in and out.
type queueAccess interface {
	// peek looks without receiving.
	peek(ctx context.Context, name string, q server.PeekQuery) (server.PeekAnswer, error)
	// export writes every message as a line, and returns how many there were; total is told first how many to expect.
	export(ctx context.Context, name string, to io.Writer, total func(int)) (int, error)
	// load stores lines. The error is a [queue.LineError] where it is known which were stored; else nobody knows.
	load(ctx context.Context, name string, lines []byte) (queue.Imported, error)
}

// openedQueues are the queues that a command works on: those of the running muster up or, when none runs, those in its data
// directory.
type openedQueues struct {
	queueAccess
	names   []string
	service *queue.Service // nil with a running muster up
}

// openQueues finds the queues of the configuration.
func (g *global) openQueues(ctx context.Context) (*openedQueues, error) {
	c, err := g.place()
	if err != nil {
		return nil, err
	}
	var names server.QueueNames
	err = g.get(ctx, c, "/v1/queues", &names)
	if err == nil {
		return &openedQueues{queueAccess: servedQueues{g, c}, names: names.Queues}, nil
	}
	if !errors.Is(err, errNotRunning) {
		return nil, err
	}
	if _, missing := os.Stat(filepath.Join(c.Data, app.QueueFile)); errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; nor does %s hold queues", err, c.Data)
	}
	service, err := queue.Open(queue.Options{Dir: c.Data, Logger: slog.New(slog.DiscardHandler)})
	if errors.Is(err, queue.ErrLocked) {
		return nil, fmt.Errorf("%w; if it is a muster up, name its configuration with -f: nothing answers at http://%s", err, c.Listen.API)
	}
	if err != nil {
		return nil, err
	}
	return &openedQueues{ownQueues{service, app.LastFailures(c.Data)}, service.Queues(), service}, nil
}

// close gives the data directory free.
func (o *openedQueues) close() error {
	if o.service == nil {
		return nil
	}
	return o.service.Close()
}

// need says that there is no queue of that name.
func (o *openedQueues) need(name string) error {
	if slices.Contains(o.names, name) {
		return nil
	}
	return noSuchQueue(name, o.names)
}

// maxNamed bounds the names in an error.
const maxNamed = 20

// noSuchQueue names the queues that there are.
func noSuchQueue(name string, names []string) error {
	named := orNone(names[:min(maxNamed, len(names))])
	if more := len(names) - maxNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	text := fmt.Sprintf("there is no queue %.100q; there is %s", name, named)
	if near := config.Suggest(name, names); near != "" {
		text += "; " + near
	}
	return usage(errors.New(text))
}

// withQueue opens the queues for a command on the named one.
func (g *global) withQueue(ctx context.Context, name string, do func(*openedQueues) error) error {
	o, err := g.openQueues(ctx)
	if err != nil {
		return err
	}
	if err = o.need(name); err == nil {
		err = do(o)
	}
	return errors.Join(err, o.close())
}

// completeQueues completes a queue's name as the first argument: from the running muster up, or else from the configuration.
// What follows is a file.
func (g *global) completeQueues(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	c, err := g.place()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names server.QueueNames
	if g.get(cmd.Context(), c, "/v1/queues", &names) != nil {
		names.Queues = statedQueues(c)
	}
	return names.Queues, cobra.ShellCompDirectiveNoFileComp
}

// statedQueues are the names of the embedded queues in the configuration, sorted.
func statedQueues(c *config.Config) (names []string) {
	for _, q := range c.Queues {
		names = append(names, q.Name)
		if q.DeadLetter.Queue != "" {
			names = append(names, q.DeadLetter.Queue)
		}
	}
	for _, f := range c.Fleets {
		for _, q := range f.Queues {
			if q.URL == "" {
				names = append(names, q.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// servedQueues are those of the running muster up, behind its HTTP API.
type servedQueues struct {
	g *global
	c *config.Config
}

func queuePath(name, rest string) string { return "/v1/queues/" + url.PathEscape(name) + "/" + rest }

func (s servedQueues) peek(ctx context.Context, name string, q server.PeekQuery) (a server.PeekAnswer, err error) {
	values := url.Values{"limit": {strconv.Itoa(q.Limit)}, "from": {q.From}, "body": {"full"}}
	if q.Short {
		values.Set("body", "short")
	}
	return a, s.g.get(ctx, s.c, queuePath(name, "messages?"+values.Encode()), &a)
}

func (s servedQueues) export(ctx context.Context, name string, to io.Writer, total func(int)) (int, error) {
	resp, err := s.g.ask(ctx, s.c, http.MethodGet, queuePath(name, "export"), nil)
	if err != nil {
		return 0, errors.Join(ctx.Err(), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, refused(resp)
	}
	if n, err := strconv.Atoi(resp.Header.Get(server.ExportTotal)); err == nil {
		total(n)
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return 0, fmt.Errorf("it ended before it was complete: %w", err)
	}
	if text := resp.Trailer.Get(server.ExportError); text != "" {
		return 0, errors.New(text)
	}
	n, err := strconv.Atoi(resp.Trailer.Get(server.ExportCount))
	if err != nil {
		return 0, errors.New("it ended before it was complete; is muster up still running?")
	}
	return n, nil
}

// loadPatience bounds one request of an import: above the time the server has for it.
const loadPatience = time.Minute

func (s servedQueues) load(ctx context.Context, name string, lines []byte) (queue.Imported, error) {
	ctx, stop := context.WithTimeout(ctx, loadPatience)
	defer stop()
	resp, err := s.g.ask(ctx, s.c, http.MethodPost, queuePath(name, "messages"), bytes.NewReader(lines))
	if errors.Is(err, errNotRunning) {
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
	case http.StatusOK, http.StatusUnprocessableEntity:
	case http.StatusInternalServerError:
		return queue.Imported{}, refused(resp)
	default:
		return queue.Imported{}, &queue.LineError{Line: 1, Err: refused(resp)}
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

// ownQueues are those of a data directory that no muster up has open.
type ownQueues struct {
	service *queue.Service
	last    server.LastFailures
}

func (o ownQueues) peek(ctx context.Context, name string, q server.PeekQuery) (server.PeekAnswer, error) {
	a, err := server.Peek(ctx, o.service, name, q)
	if err == nil {
		a.Explain(ctx, o.last)
	}
	return a, err
}

func (o ownQueues) export(ctx context.Context, name string, to io.Writer, total func(int)) (int, error) {
	counts, err := o.service.Counts(name)
	if err != nil {
		return 0, err
	}
	total(counts.Visible + counts.InFlight + counts.Delayed)
	return o.service.Export(ctx, name, to)
}

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

// escaped returns text with an escape for each character that a terminal might take for a command, but for those of keep.
func escaped(text, keep string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(keep, r) || strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
