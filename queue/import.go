// Import reads the lines that Export in peek.go writes.

package queue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// MaxImportLine bounds a line of an import, in bytes: the largest message, in which JSON may escape
// each byte as six (\u0000), and 64 KiB for its other fields.
const MaxImportLine = 6*MaxBytes + 64<<10

// importBatch is the number of messages that an import stores with one sync.
const importBatch = 500

// Imported counts what an Import did.
type Imported struct {
	// Sent is the number of messages stored.
	Sent int
	// Duplicates is the number of messages that a FIFO queue already had within five minutes, and did
	// not store again.
	Duplicates int
}

// LineError says at which line an Import ended early, and why.
type LineError struct {
	// Line is the first line that was not imported, counted from 1. The lines before it are stored. It
	// and the lines after it are not, with two exceptions: if the context ended or Err is ErrStorage,
	// the outcome of up to 500 lines from it on is unknown.
	Line int
	// Err says why the line was not imported.
	Err error
}

// Error returns the line number and the cause.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Import sends the messages of lines that Export wrote or a person did: only body is required, and
// group_id on a FIFO queue. Imported messages are new messages with new ids and times. On a standard
// queue a message that was delayed keeps what is left of its delay at the time of the import. Empty
// lines are skipped. Up to 500 messages are stored at a time, all or none of them. The error is
// ErrQueueNotFound, or wraps a *LineError.
func (s *Service) Import(ctx context.Context, name string, from io.Reader) (Imported, error) {
	set, err := s.lookup(name)
	if err != nil {
		return Imported{}, err
	}
	in := &importing{s: s, name: name, set: set}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), MaxImportLine)
	for lines.Scan() {
		in.line++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if err := in.add(ctx, text); err != nil {
			return in.done, in.fail(err)
		}
	}
	in.line++
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it is longer than %d bytes", MaxImportLine)
	}
	return in.done, in.fail(in.after(ctx, err))
}

// importing is the state of one Import. It collects messages into batches.
type importing struct {
	s     *Service
	name  string
	set   machine.Settings
	line  int // the present line, from 1
	batch []writer.Sending
	first int // the line of the first message of the batch
	bytes int // the size of the batch, by the rules of MaxBytes
	done  Imported
}

// fail names the queue in an error.
func (in *importing) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("import into queue %s: %w", in.name, err)
}

// after stores the batch before it reports that the present line is wrong: a LineError promises that
// the lines before it are stored. wrong is nil at the end of the input.
func (in *importing) after(ctx context.Context, wrong error) error {
	if err := in.send(ctx); err != nil {
		return err
	}
	if wrong == nil {
		return nil
	}
	return &LineError{in.line, wrong}
}

// add puts the message of one line into the batch, and stores the batch first if it is full.
func (in *importing) add(ctx context.Context, text []byte) error {
	m, err := in.read(text)
	if err != nil {
		return in.after(ctx, fmt.Errorf("%w; %s", err, in.expected()))
	}
	one, err := prepare(&m, &in.set)
	if err != nil {
		return in.after(ctx, fmt.Errorf("%w; %s", err, in.expected()))
	}
	if len(in.batch) == importBatch || in.bytes+m.size() > MaxBytes {
		if err := in.send(ctx); err != nil {
			return err
		}
	}
	if len(in.batch) == 0 {
		in.first = in.line
	}
	in.batch, in.bytes = append(in.batch, one), in.bytes+m.size()
	return nil
}

// expected describes a valid line, for errors.
func (in *importing) expected() string {
	if in.set.Fifo {
		return `expected is a JSON object such as {"body":"hello","group_id":"a","deduplication_id":"1"}`
	}
	return `expected is a JSON object such as {"body":"hello"}`
}

// read parses a line. Errors name the JSON type that was found and the key of the wrong field.
func (in *importing) read(text []byte) (Outgoing, error) {
	var x exported
	err := json.Unmarshal(text, &x)
	switch wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); {
	case ok && wrong.Field == "":
		return Outgoing{}, fmt.Errorf("found a JSON %s", wrong.Value)
	case ok:
		return Outgoing{}, fmt.Errorf("found a JSON %s as %s", wrong.Value, wrong.Field)
	case err != nil:
		return Outgoing{}, err
	}
	if x.Body == "" {
		return Outgoing{}, rules.Refuse(ErrMissingParameter, "found no body")
	}
	m := Outgoing{Body: x.Body, Attributes: importAttributes(x.Attributes), Trace: x.Trace, GroupID: x.GroupID}
	switch {
	case in.set.Fifo:
		m.DeduplicationID = x.DeduplicationID
	case x.State == StateDelayed:
		delay := min(MaxDelay, max(0, x.VisibleAt.Sub(rules.FromMillis(in.s.writer.Now()))))
		m.Delay = &delay
	default:
		m.Delay = new(time.Duration)
	}
	return m, nil
}

// send stores the batch, all of it or nothing, and counts what was stored.
func (in *importing) send(ctx context.Context) error {
	if len(in.batch) == 0 {
		return nil
	}
	for i := range in.batch {
		identify(in.batch[i].Record)
	}
	c := &writer.Send{Queue: in.name, Outgoing: in.batch, Answer: writer.NewReply()}
	in.batch, in.bytes = nil, 0
	if err := in.s.writer.Do(ctx, c, c.Answer); err != nil {
		return &LineError{in.first, err}
	}
	for _, one := range c.Outgoing {
		if one.Duplicate {
			in.done.Duplicates++
		} else {
			in.done.Sent++
		}
	}
	return nil
}
