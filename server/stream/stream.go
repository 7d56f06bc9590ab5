package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The bounds of a log and of its readers.
const (
	// MaxEvents and MaxBytes bound a log. The oldest events are forgotten first.
	MaxEvents = 4096
	MaxBytes  = 8 << 20
	// MaxReaders bounds the readers that are served at once.
	MaxReaders = 128
	// Patience is how long a write to a reader may take.
	Patience = 15 * time.Second
	// beatEvery is the interval of comments on a quiet stream: proxies close a connection that says nothing.
	beatEvery = 15 * time.Second
	// pace is the least time between two writes to one reader, so that many small events travel together.
	pace = 200 * time.Millisecond
)

// Event is one event. ID is its cursor: all events up to it are known to a reader that has it.
type Event struct {
	ID   string `json:"id"`
	Name string `json:"event"`
	// Data is JSON without line breaks.
	Data []byte `json:"-"`
}

// Log holds the latest events. Any goroutine may use it.
type Log struct {
	mu     sync.Mutex
	epoch  string
	events []Event
	// first is the number of the oldest event in events; numbers count from 1.
	first   int64
	bytes   int
	readers int
	// changed is closed and replaced at every event.
	changed chan struct{}
}

// New returns an empty log. The epoch, which has no dot, tells its cursors from those of other logs.
func New(epoch string) *Log { return &Log{epoch: epoch, first: 1, changed: make(chan struct{})} }

// Publish adds an event. data is JSON without line breaks, and is not changed afterwards.
func (l *Log) Publish(name string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number := l.first + int64(len(l.events))
	l.events = append(l.events, Event{ID: l.cursor(number), Name: name, Data: data})
	l.bytes += len(data)
	for len(l.events) > MaxEvents || l.bytes > MaxBytes && len(l.events) > 1 {
		l.bytes -= len(l.events[0].Data)
		l.events[0] = Event{} // the array behind the slice must not keep it
		l.events, l.first = l.events[1:], l.first+1
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// Restart forgets all events and begins a new epoch, so that no older cursor is valid. Readers start over.
func (l *Log) Restart(epoch string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch, l.events, l.bytes, l.first = epoch, nil, 0, 1
	close(l.changed)
	l.changed = make(chan struct{})
}

// Cursor returns the cursor of the last event.
func (l *Log) Cursor() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cursor(l.first + int64(len(l.events)) - 1)
}

// Readers returns how many readers are served now.
func (l *Log) Readers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readers
}

// Since returns the events after a cursor, and false if the log does not reach back to it.
func (l *Log) Since(cursor string) ([]Event, bool) {
	events, _, known := l.since(cursor)
	return events, known
}

// since also returns a channel that is closed at the next event.
func (l *Log) since(cursor string) (events []Event, changed <-chan struct{}, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch, text, _ := strings.Cut(cursor, ".")
	number, err := strconv.ParseInt(text, 10, 64)
	end := l.first + int64(len(l.events)) - 1
	if epoch != l.epoch || err != nil || number < l.first-1 || number > end {
		return nil, l.changed, false
	}
	return append([]Event(nil), l.events[number-l.first+1:]...), l.changed, true
}

func (l *Log) cursor(number int64) string { return l.epoch + "." + strconv.FormatInt(number, 10) }

// View says what a reader gets in addition to the events.
type View struct {
	// Name is the name of the event with the whole state, and Whole returns that state with its cursor: the state
	// includes every event up to the cursor.
	Name  string
	Whole func() (data []byte, cursor string)
	// Extra returns a state of the reader's own; its event, named ExtraName, has no id and is sent when the state
	// changed, at most once a second. It may be nil, and then there is none.
	ExtraName string
	Extra     func(ctx context.Context) []byte
}

// errLost means that a reader was too slow.
var errLost = errors.New("events were lost because they were read too slowly")

// enter counts a reader, and returns false if there are too many.
func (l *Log) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers >= MaxReaders {
		return false
	}
	l.readers++
	return true
}

func (l *Log) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers--
}

// Serve streams to one reader until its connection or the context of the request ends, or it reads too slowly.
func (l *Log) Serve(w http.ResponseWriter, r *http.Request, v View) {
	if !l.enter() {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, `{"error":"%d pages follow the stream already, no more are allowed; poll instead"}`+"\n",
			MaxReaders)
		return
	}
	defer l.leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must not wait for more
	out := &writer{w: w, control: http.NewResponseController(w)}
	out.text("retry: 2000\n\n")
	l.follow(r.Context(), out, r.Header.Get("Last-Event-ID"), v)
}

// follow writes events to a reader from its cursor on.
func (l *Log) follow(ctx context.Context, out *writer, cursor string, v View) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	extra := newExtra(v)
	following := false
	for out.failed == nil {
		events, changed, known := l.since(cursor)
		switch {
		case !known && following:
			out.event(Event{Name: "lost", Data: fmt.Appendf(nil, `{"error":%q}`, errLost.Error())})
			out.flush()
			return
		case !known:
			var data []byte
			data, cursor = v.Whole()
			out.event(Event{ID: cursor, Name: v.Name, Data: data})
			following = true
			out.flush()
			continue
		}
		following = true
		for _, e := range events {
			out.event(e)
			cursor = e.ID
		}
		extra.write(ctx, out)
		out.flush()
		if !waits(ctx, out, changed, beat.C, extra.due()) {
			return
		}
	}
}

// waits waits for the next event, at least for pace; the beat keeps the connection alive meanwhile. It returns false
// when the reader has gone.
func waits(ctx context.Context, out *writer, changed <-chan struct{}, beat <-chan time.Time, due time.Duration) bool {
	short := time.NewTimer(pace)
	defer short.Stop()
	select {
	case <-short.C:
	case <-ctx.Done():
		return false
	}
	long := time.NewTimer(due)
	defer long.Stop()
	for {
		select {
		case <-changed:
			return true
		case <-long.C:
			return true
		case <-ctx.Done():
			return false
		case <-beat:
			if out.text(":\n\n"); out.flush() != nil {
				return false
			}
		}
	}
}

// extraEvery is the least time between two states of a reader's own.
const extraEvery = time.Second

// extra sends a reader's own state when it changed.
type extra struct {
	view View
	last []byte
	at   time.Time
}

func newExtra(v View) *extra { return &extra{view: v} }

// due is how long the stream may wait for an event until the state is computed again.
func (x *extra) due() time.Duration {
	if x.view.Extra == nil {
		return time.Hour
	}
	return extraEvery
}

func (x *extra) write(ctx context.Context, out *writer) {
	if x.view.Extra == nil || time.Since(x.at) < extraEvery {
		return
	}
	x.at = time.Now()
	if now := x.view.Extra(ctx); now != nil && !bytes.Equal(now, x.last) {
		x.last = now
		out.event(Event{Name: x.view.ExtraName, Data: now})
	}
}

// writer writes events to a connection and keeps the first error.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
	failed  error
}

func (o *writer) text(s string) { o.buffer.WriteString(s) }

// event writes one event. Data has no line break, so one data line suffices.
func (o *writer) event(e Event) {
	if e.ID != "" {
		fmt.Fprintf(&o.buffer, "id: %s\n", e.ID)
	}
	fmt.Fprintf(&o.buffer, "event: %s\ndata: ", e.Name)
	o.buffer.Write(e.Data)
	o.buffer.WriteString("\n\n")
}

// flush sends what was written. Each flush has a deadline of its own, in place of the one of a whole answer.
func (o *writer) flush() error {
	if o.failed != nil || o.buffer.Len() == 0 {
		return o.failed
	}
	o.control.SetWriteDeadline(time.Now().Add(Patience)) // if this fails, the server's deadline applies
	_, o.failed = o.w.Write(o.buffer.Bytes())
	o.buffer.Reset()
	if o.failed == nil {
		o.failed = o.control.Flush()
	}
	return o.failed
}
