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
)

// maxImportLine bounds a line of an import: the largest message, every byte of
// which may take six in JSON, and its other fields.
const maxImportLine = 6*MaxBytes + 64<<10

// Imported counts what an Import did.
type Imported struct {
	// Sent is the number of messages stored.
	Sent int
	// Duplicates is the number of messages a FIFO queue had been sent within
	// five minutes, and did not store again.
	Duplicates int
}

// Import sends the messages written by Export, or by hand: only body is
// needed, and group_id on a FIFO queue. They are new messages with new ids and
// times; one that was delayed keeps, on a standard queue, what is left of its
// delay at the time of the import. An error names the line; the lines before
// it are stored. Empty lines are skipped.
func (s *Service) Import(ctx context.Context, name string, from io.Reader) (Imported, error) {
	set, err := s.lookup(name)
	if err != nil {
		return Imported{}, err
	}
	in := &importing{s: s, name: name, set: set}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxImportLine)
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
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		in.line++
		err = fmt.Errorf("it is longer than %d bytes", maxImportLine)
	}
	return in.done, in.fail(errors.Join(in.send(ctx), err))
}

// importing collects messages into batches.
type importing struct {
	s     *Service
	name  string
	set   settings
	line  int
	batch []Outgoing
	at    []int // their lines
	bytes int
	done  Imported
}

// lineError is an error of an earlier line than the one read last.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

func (in *importing) fail(err error) error {
	if err == nil {
		return nil
	}
	line := in.line
	if e, ok := errors.AsType[*lineError](err); ok {
		line = e.line
	}
	return fmt.Errorf("import into queue %s: line %d: %w", in.name, line, err)
}

func (in *importing) add(ctx context.Context, text []byte) error {
	var x exported
	if err := json.Unmarshal(text, &x); err != nil {
		return errors.Join(in.send(ctx), err)
	}
	m := Outgoing{Body: x.Body, Attributes: x.Attributes, Trace: x.Trace, GroupID: x.GroupID}
	if in.set.fifo {
		m.DeduplicationID = x.DeduplicationID
	} else if x.State == StateDelayed {
		delay := min(MaxDelay, max(0, x.VisibleAt.Sub(fromMillis(in.s.now()))))
		m.Delay = &delay
	} else {
		m.Delay = new(time.Duration)
	}
	if err := m.check(&in.set); err != nil {
		return errors.Join(in.send(ctx), err)
	}
	if len(in.batch) == MaxBatch || in.bytes+m.size() > MaxBytes {
		if err := in.send(ctx); err != nil {
			return err
		}
	}
	in.batch, in.at, in.bytes = append(in.batch, m), append(in.at, in.line), in.bytes+m.size()
	return nil
}

// send stores the batch.
func (in *importing) send(ctx context.Context) error {
	if len(in.batch) == 0 {
		return nil
	}
	sent, err := in.s.Send(ctx, in.name, in.batch)
	if err != nil {
		return &lineError{in.at[0], err}
	}
	at := in.at
	in.batch, in.at, in.bytes = nil, nil, 0
	for i, one := range sent {
		switch {
		case one.Err != nil:
			return &lineError{at[i], one.Err}
		case one.Duplicate:
			in.done.Duplicates++
		default:
			in.done.Sent++
		}
	}
	return nil
}
