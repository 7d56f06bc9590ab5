package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/queue"
)

// This file has the routes of embedded queues beyond the SQS protocol: reading messages without receiving them, storing
// many at once, and exporting a queue. muster queue uses them.

const (
	// MaxLoadBytes bounds the body of POST /v1/queues/NAME/messages. It has room for the largest possible line: a
	// message of 1 MiB, each of whose bytes takes six in JSON, and its other fields.
	MaxLoadBytes = 8 << 20
	// maxPeekBytes bounds the bodies and attributes in one answer of GET /v1/queues/NAME/messages. A single message
	// always fits.
	maxPeekBytes = 8 << 20
	// ShortBody is the length of a short body in characters, for [PeekQuery].
	ShortBody = 200
	// exportPatience is how long an export waits for a reader that reads nothing.
	exportPatience = 30 * time.Second
	// exportBuffer is the size of one write of an export, in bytes.
	exportBuffer = 64 << 10
)

// The headers of GET /v1/queues/NAME/export. [ExportTotal] comes first: the number of messages when the export begins.
// The two others are trailers. An answer without [ExportCount], or with [ExportError], is incomplete.
const (
	ExportTotal = "Muster-Export-Total"
	ExportCount = "Muster-Export-Count"
	ExportError = "Muster-Export-Error"
)

// QueueNames is the answer of GET /v1/queues.
type QueueNames struct {
	Queues []string `json:"queues"`
	// Counts holds the counts by queue name.
	Counts map[string]QueueCounts `json:"counts"`
}

// QueueCounts are counts of a queue, at one instant.
type QueueCounts struct {
	// Retrying is how many of the messages in flight wait for their retry. It is nil while unknown, because some have
	// been in flight since before the queue was opened.
	Retrying *int `json:"retrying,omitzero"`
	// Visible, InFlight, Delayed and Damaged count messages; InFlight includes the retrying ones.
	Visible  int `json:"visible"`
	InFlight int `json:"in_flight"`
	Delayed  int `json:"delayed"`
	Damaged  int `json:"damaged"`
	// OldestSent is when the oldest visible message was sent; absent if none is visible.
	OldestSent time.Time `json:"oldest_sent,omitzero"`
	// DeadLetterQueue is the queue of its dead letters, empty for none, and DeadLetters how many are there. Sources are
	// the queues whose dead letters this queue holds.
	DeadLetterQueue string   `json:"dead_letter_queue,omitzero"`
	DeadLetters     int      `json:"dead_letters,omitzero"`
	Sources         []string `json:"sources,omitzero"`
}

// PeekQuery selects messages to peek at.
type PeekQuery struct {
	// Limit is the largest number of messages: 1 to [queue.MaxPeek].
	Limit int
	// From is waiting, in-flight, delayed or damaged; empty means all of them.
	From string
	// Short leaves [ShortBody] characters of each body.
	Short bool
}

// PeekAnswer is the answer of GET /v1/queues/NAME/messages: messages in the order in which they were sent. Fields may
// be added; readers ignore unknown ones.
type PeekAnswer struct {
	Queue    string          `json:"queue"`
	At       time.Time       `json:"at"`
	Messages []PeekedMessage `json:"messages"`
	// Cut says that messages were left out because the answer became too large.
	Cut bool `json:"cut"`
	// LastErrorsUnknown says why the last errors of messages are unknown; empty if they are known.
	LastErrorsUnknown string `json:"last_errors_unknown,omitzero"`
}

// LastFailures returns the last failures of the messages with the given ids, as far as workers on this machine logged
// them.
type LastFailures func(ctx context.Context, messages []string) (map[string]joblog.Failure, error)

// Explain adds the last errors of the messages to the answer.
func (a *PeekAnswer) Explain(ctx context.Context, last LastFailures) {
	if last == nil {
		return
	}
	ids := make([]string, len(a.Messages))
	for i, m := range a.Messages {
		ids[i] = m.ID
	}
	found, err := last(ctx, ids)
	if err != nil {
		a.LastErrorsUnknown = err.Error()
		return
	}
	for i, m := range a.Messages {
		if f, ok := found[m.ID]; ok {
			a.Messages[i].LastError = &f
		}
	}
}

// PeekedMessage is one message in [PeekAnswer].
type PeekedMessage struct {
	ID string `json:"id"`
	// State is waiting, in-flight, delayed or damaged.
	State string `json:"state"`
	// Damaged says why the content, and the id with it, is missing; empty for a message that is whole.
	Damaged string `json:"damaged,omitzero"`
	// Sent is when it was sent; AgeSeconds is its age.
	Sent       time.Time `json:"sent"`
	AgeSeconds float64   `json:"age_seconds"`
	// VisibleAt is when it becomes, or became, receivable.
	VisibleAt time.Time `json:"visible_at"`
	// Receives counts the receives in all queues; FirstReceived is the first of them.
	Receives      int        `json:"receives"`
	FirstReceived *time.Time `json:"first_received,omitempty"`
	// Group and DeduplicationID are the sender's; SequenceNumber is that of a FIFO queue.
	Group           string `json:"group,omitzero"`
	DeduplicationID string `json:"deduplication_id,omitzero"`
	SequenceNumber  string `json:"sequence_number,omitzero"`
	// Source is the queue from which it was dead-lettered.
	Source     string                     `json:"source,omitzero"`
	Trace      string                     `json:"trace,omitzero"`
	Attributes map[string]PeekedAttribute `json:"attributes,omitempty"`
	// LastError is the last failed attempt, if a worker on this machine logged it.
	LastError *joblog.Failure `json:"last_error,omitempty"`
	// Body is the body, or its beginning if BodyCut is true; BodyBytes is the length of the whole body.
	Body      string `json:"body"`
	BodyBytes int    `json:"body_bytes"`
	BodyCut   bool   `json:"body_cut"`
}

// PeekedAttribute is an attribute in [PeekedMessage]: a text, or bytes in base64.
type PeekedAttribute struct {
	Type   string `json:"type"`
	Value  string `json:"value,omitzero"`
	Binary []byte `json:"binary,omitempty"`
}

// Loaded is the answer of POST /v1/queues/NAME/messages, whose body has one JSON object per line, for
// [queue.Service.Import].
type Loaded struct {
	// Sent counts the stored messages, Duplicates those that a FIFO queue had already.
	Sent       int `json:"sent"`
	Duplicates int `json:"duplicates"`
	// Line is the first line that was not stored, counted from 1, and Error says why. The lines before it are stored.
	Line  int    `json:"line,omitzero"`
	Error string `json:"error,omitzero"`
}

// peekStates maps the words of [PeekQuery] and [PeekedMessage] to the states of messages.
func peekStates() map[string]queue.State {
	return map[string]queue.State{"": queue.AnyState, "waiting": queue.StateVisible, "in-flight": queue.StateFlight,
		"delayed": queue.StateDelayed, "damaged": queue.StateDamaged}
}

// Check returns an error for an invalid query.
func (q PeekQuery) Check() error {
	if q.Limit < 1 || q.Limit > queue.MaxPeek {
		return fmt.Errorf("limit: found %d, allowed is 1 to %d", q.Limit, queue.MaxPeek)
	}
	if _, ok := peekStates()[q.From]; !ok {
		return fmt.Errorf("from: found %.20q, allowed is waiting, in-flight, delayed or damaged", q.From)
	}
	return nil
}

// Peek reads messages of the named queue without receiving them. The error is that of [PeekQuery.Check] or of
// [queue.Service.PeekEach].
func Peek(ctx context.Context, queues *queue.Service, name string, q PeekQuery) (PeekAnswer, error) {
	if err := q.Check(); err != nil {
		return PeekAnswer{}, err
	}
	a := PeekAnswer{Queue: name, At: time.Now().UTC(), Messages: []PeekedMessage{}}
	size := 0
	err := queues.PeekEach(ctx, name, peekStates()[q.From], func(p queue.Peeked) bool {
		m := peeked(p, a.At, q.Short)
		size += len(m.Body)
		for _, one := range m.Attributes {
			size += len(one.Value) + len(one.Binary)
		}
		if a.Cut = size > maxPeekBytes; a.Cut {
			return false
		}
		a.Messages = append(a.Messages, m)
		return len(a.Messages) < q.Limit
	})
	return a, err
}

// peeked describes a message at a time. Its state is that of the queue, but a message whose content turns out to be
// damaged is called damaged at once.
func peeked(p queue.Peeked, at time.Time, short bool) PeekedMessage {
	m := PeekedMessage{
		ID: p.ID, Sent: p.Sent.UTC(), AgeSeconds: max(0, at.Sub(p.Sent).Seconds()), VisibleAt: p.VisibleAt.UTC(),
		Receives: p.ReceiveCount,
		Group:    p.GroupID, DeduplicationID: p.DeduplicationID, SequenceNumber: p.SequenceNumber, Source: p.Source,
		Trace: p.Trace,
		Body:  p.Body, BodyBytes: len(p.Body),
	}
	for word, state := range peekStates() {
		if state == p.State {
			m.State = word
		}
	}
	if p.Damaged != nil {
		m.State, m.Damaged = "damaged", p.Damaged.Error() // even before it is set aside
	}
	if !p.FirstReceived.IsZero() {
		first := p.FirstReceived.UTC()
		m.FirstReceived = &first
	}
	for name, a := range p.Attributes {
		if m.Attributes == nil {
			m.Attributes = map[string]PeekedAttribute{}
		}
		one := PeekedAttribute{Type: a.Type, Value: string(a.Value)}
		if a.IsBinary() {
			one = PeekedAttribute{Type: a.Type, Binary: a.Value}
		}
		m.Attributes[name] = one
	}
	if short && utf8.RuneCountInString(m.Body) > ShortBody {
		m.Body, m.BodyCut = string([]rune(m.Body)[:ShortBody]), true
	}
	return m
}

// CollectQueues adds the metrics of embedded queues to a page.
func CollectQueues(p *exposition.Page, queues *queue.Service) {
	damaged := desc("muster_queue_damaged_messages", "Messages of the embedded queue that are set aside since their "+
		"content is damaged.",
		"queue")
	for _, name := range queues.Queues() {
		if c, err := queues.Counts(name); err == nil {
			p.Add(exposition.Gauge, damaged, float64(c.Damaged), name)
		}
	}
}

// damagedMessages counts the damaged messages of each embedded queue that has any, and describes them.
func (a *api) damagedMessages() (counts map[string]int, faults []string) {
	if a.Queues == nil {
		return nil, nil
	}
	for _, name := range a.Queues.Queues() {
		c, err := a.Queues.Counts(name)
		if err != nil || c.Damaged == 0 {
			continue
		}
		if counts == nil {
			counts = map[string]int{}
		}
		counts[name] = c.Damaged
		faults = append(faults, fmt.Sprintf("queue %s: %s damaged and set aside, never delivered: muster queue peek "+
			"%[1]s --from damaged",
			name, isOrAre(c.Damaged, "message")))
	}
	return counts, faults
}

// isOrAre counts a noun and adds the verb: "1 message is", "2 messages are".
func isOrAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return render.Plural(n, noun) + " are"
}

// embedded tells whether there are embedded queues, and answers with an error if not.
func (a *api) embedded(w http.ResponseWriter) bool {
	if a.Queues == nil {
		fail(w, http.StatusNotFound, "this API serves no embedded queues")
	}
	return a.Queues != nil
}

// queues answers with the names of the embedded queues and with their counts.
func (a *api) queues(w http.ResponseWriter, _ *http.Request) {
	if !a.embedded(w) {
		return
	}
	names := QueueNames{Queues: append([]string{}, a.Queues.Queues()...), Counts: map[string]QueueCounts{}}
	for _, name := range names.Queues {
		names.Counts[name] = a.countsOf(name)
	}
	answer(w, names)
}

// countsOf returns the counts of a queue; none of one that was deleted meanwhile.
func (a *api) countsOf(name string) (known QueueCounts) {
	c, err := a.Queues.Counts(name)
	if err != nil {
		return known
	}
	if c.Unsure == 0 {
		known.Retrying = &c.Returned
	}
	known.Visible, known.InFlight, known.Delayed, known.Damaged = c.Visible, c.InFlight, c.Delayed, c.Damaged
	if !c.OldestSent.IsZero() {
		known.OldestSent = c.OldestSent.UTC()
	}
	known.DeadLetterQueue, known.DeadLetters = c.DeadLetterQueue, max(0, c.DeadLetters)
	known.Sources, _ = a.Queues.DeadLetterSources(name) // the queue was there a moment ago
	return known
}

// peek answers with messages of a queue, and with their last errors as far as workers of this machine logged them.
func (a *api) peek(w http.ResponseWriter, r *http.Request) {
	if !a.embedded(w) {
		return
	}
	q := PeekQuery{Limit: 10, From: r.URL.Query().Get("from")}
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			fail(w, http.StatusBadRequest, fmt.Sprintf("limit: found %.20q, allowed is 1 to %d", text, queue.MaxPeek))
			return
		}
		q.Limit = n
	}
	switch body := r.URL.Query().Get("body"); body {
	case "short":
		q.Short = true
	case "", "full":
	default:
		fail(w, http.StatusBadRequest, fmt.Sprintf("body: found %.20q, allowed is full or short", body))
		return
	}
	if err := q.Check(); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	found, err := Peek(r.Context(), a.Queues, r.PathValue("queue"), q)
	if err != nil {
		failQueue(w, r, err)
		return
	}
	found.Explain(r.Context(), a.LastFailures)
	answer(w, found)
}

// load stores the lines of a body in a queue. It reads the whole body first: one that is too large or incomplete
// changes nothing. Only after an answer of 500 it is unknown what was stored.
func (a *api) load(w http.ResponseWriter, r *http.Request) {
	if !a.embedded(w) {
		return
	}
	lines, err := io.ReadAll(r.Body)
	if err != nil {
		unreadable(w, err)
		return
	}
	done, err := a.Queues.Import(r.Context(), r.PathValue("queue"), bytes.NewReader(lines))
	wrong, isLine := errors.AsType[*queue.LineError](err)
	switch {
	case err == nil:
		answer(w, Loaded{Sent: done.Sent, Duplicates: done.Duplicates})
	case isLine && !errors.Is(err, queue.ErrStorage):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		encode(w, Loaded{Sent: done.Sent, Duplicates: done.Duplicates, Line: wrong.Line, Error: wrong.Err.Error()})
	default:
		failQueue(w, r, err)
	}
}

// export streams a queue. The server's deadline is for short answers; here every write extends it. So a large queue is
// exported as a whole, and a stalled reader is dropped.
func (a *api) export(w http.ResponseWriter, r *http.Request) {
	if !a.embedded(w) {
		return
	}
	name := r.PathValue("queue")
	counts, err := a.Queues.Counts(name)
	if err != nil {
		failQueue(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Trailer", ExportCount+", "+ExportError)
	h.Set(ExportTotal, strconv.Itoa(counts.Visible+counts.InFlight+counts.Delayed))
	buffered := bufio.NewWriterSize(patient{w, http.NewResponseController(w)}, exportBuffer)
	n, err := a.Queues.Export(r.Context(), name, buffered)
	if err = errors.Join(err, buffered.Flush()); err != nil {
		h.Set(ExportError, err.Error())
	}
	h.Set(ExportCount, strconv.Itoa(n))
}

// patient gives every write its own deadline.
type patient struct {
	to      io.Writer
	control *http.ResponseController
}

// Write implements [io.Writer].
func (p patient) Write(b []byte) (int, error) {
	p.control.SetWriteDeadline(time.Now().Add(exportPatience)) // if this fails, the server's deadline applies
	return p.to.Write(b)
}

// failQueue answers with the error of a queue.
func failQueue(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, queue.ErrQueueNotFound):
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no queue %.100q", r.PathValue("queue")))
	case errors.Is(err, queue.ErrInvalidParameter):
		fail(w, http.StatusBadRequest, err.Error())
	case errors.Is(err, queue.ErrStorageFull), errors.Is(err, queue.ErrStorageBusy), errors.Is(err, queue.ErrClosed):
		fail(w, http.StatusServiceUnavailable, err.Error())
	default:
		fail(w, http.StatusInternalServerError, err.Error())
	}
}
