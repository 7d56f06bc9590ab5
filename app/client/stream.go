package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/host"
)

const (
	// maxEvent bounds one event of the stream, in bytes: the board of 1,000 fleets has two megabytes.
	maxEvent = 64 << 20
	// quietFor is how long the stream may say nothing before it counts as broken: it has a comment every 15 seconds.
	quietFor = 45 * time.Second
	// againAfter is the pause before a broken stream is followed again.
	againAfter = time.Second
)

// Event is one event of the stream of the running muster up.
type Event struct {
	Name string
	Data []byte
}

// Follow calls visit with the events of GET /v1/stream until ctx ends or visit returns an error, which Follow returns.
// When the connection breaks, it connects again and continues after the last event. It calls broken with the error of
// each break, and with nil when events come again. When no muster up answers at first, it returns [ErrNotRunning].
func Follow(ctx context.Context, c *config.Config, visit func(Event) error, broken func(error)) error {
	last := ""
	for first := true; ; first = false {
		connected, err := follow(ctx, c, &last, visit, broken)
		var stop *visitError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &stop):
			return stop.error
		case first && !connected:
			return err
		}
		broken(err)
		if err := host.Sleep(ctx, againAfter); err != nil {
			return err
		}
	}
}

// visitError is an error of the caller's, as opposed to one of the connection.
type visitError struct{ error }

// follow reads one connection. last is the cursor of the last event. It tells whether the stream was connected.
func follow(ctx context.Context, c *config.Config, last *string, visit func(Event) error, broken func(error)) (
	connected bool, err error,
) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	quiet := time.AfterFunc(quietFor, stop)
	defer quiet.Stop()
	resp, err := ask(ctx, c, http.MethodGet, "/v1/stream", nil, map[string]string{"Last-Event-ID": *last})
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, Refused(resp)
	}
	broken(nil)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	var e Event
	id := ""
	for lines.Scan() {
		quiet.Reset(quietFor)
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			id = value
		case "event":
			e.Name = value
		case "data":
			e.Data = []byte(value)
		case "": // the end of an event
			if e.Name != "" {
				if err := visit(e); err != nil {
					return true, &visitError{err}
				}
			}
			if id != "" {
				*last = id
			}
			e, id = Event{}, ""
		}
	}
	if err := lines.Err(); err != nil {
		return true, fmt.Errorf("follow the stream: %w", err)
	}
	return true, errors.New("follow the stream: muster up ended the connection")
}
