package joblog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	// followEvery is how often a log is looked at that is followed.
	followEvery = 200 * time.Millisecond
	// maxLine bounds a line that is read: more than a record can have.
	maxLine = 128 << 10
	// recentBytes is how much of a log [Recent] reads, from its end.
	recentBytes = 1 << 20
)

// Query selects records.
type Query struct {
	// Since leaves out older ones; zero selects all.
	Since time.Time
	// Message selects those of the messages whose ids begin so; empty selects all.
	Message string
	// Failed selects failures alone.
	Failed bool
}

func (q Query) selects(r Record) bool {
	return !r.At.Before(q.Since) && strings.HasPrefix(r.Message, q.Message) && (!q.Failed || r.Kind == Failed)
}

// Read visits the records of the named fleet's log below dir that are there, the oldest first, until visit returns an
// error, which it returns.
func Read(ctx context.Context, dir, fleet string, q Query, visit func(Record) error) error {
	_, err := read(ctx, placeOf(dir, fleet), q, visit)
	return err
}

// read returns the present file, at its end, for Follow; nil when there is none.
func read(ctx context.Context, p place, q Query, visit func(Record) error) (*reader, error) {
	files, err := p.open()
	if err != nil {
		return nil, err
	}
	var present *reader
	for i, f := range files {
		present = newReader(f, q)
		if stat, err := f.Stat(); i < len(files)-1 && err == nil && stat.ModTime().Before(q.Since) {
			continue
		}
		if err := present.visit(ctx, visit); err != nil {
			closeAll(files)
			return nil, err
		}
	}
	for i, f := range files {
		if i < len(files)-1 {
			_ = f.Close()
		}
	}
	return present, nil
}

// Follow is [Read], and then visits records as they come, until ctx ends, whose error it returns. idle is called
// whenever there is none for the moment.
func Follow(ctx context.Context, dir, fleet string, q Query, visit func(Record) error, idle func() error) error {
	p := placeOf(dir, fleet)
	r, err := read(ctx, p, q, visit)
	if err != nil {
		return err
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if err := idle(); err != nil {
			return errors.Join(err, r.close())
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), r.close())
		case <-tick.C:
		}
		if r, err = r.next(ctx, p, q, visit); err != nil {
			return err
		}
	}
}

// reader reads the records of one file.
type reader struct {
	file *os.File
	q    Query
	in   *bufio.Reader
	// part is the beginning of a line whose end is not written yet; skip is true while the rest of a line is too long.
	part []byte
	skip bool
}

func newReader(f *os.File, q Query) *reader {
	return &reader{file: f, q: q, in: bufio.NewReaderSize(f, 64<<10)}
}

func (r *reader) close() error {
	if r == nil {
		return nil
	}
	return r.file.Close()
}

// visit visits what was written since the last call.
func (r *reader) visit(ctx context.Context, visit func(Record) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := r.in.ReadSlice('\n')
		if !r.skip {
			r.part = append(r.part, text...)
		}
		switch {
		case err == io.EOF:
			return nil
		case err == bufio.ErrBufferFull:
			if len(r.part) > maxLine {
				r.part, r.skip = nil, true
			}
			continue
		case err != nil:
			return fmt.Errorf("read %s: %w", r.file.Name(), err)
		}
		var record Record
		if !r.skip && json.Unmarshal(r.part, &record) == nil && r.q.selects(record) {
			if err := visit(record); err != nil {
				return err
			}
		}
		r.part, r.skip = r.part[:0], false
	}
}

// next visits what is new, and returns the reader of the present file: another one once the file was rotated.
func (r *reader) next(ctx context.Context, p place, q Query, visit func(Record) error) (*reader, error) {
	if r == nil { // there was no log
		return read(ctx, p, q, visit)
	}
	present, statErr := os.Stat(p.path())
	mine, err := r.file.Stat()
	if err == nil {
		err = r.visit(ctx, visit) // after the look at the name: what was renamed is not written any more
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	if statErr != nil || os.SameFile(present, mine) {
		return r, nil
	}
	f, err := os.Open(p.path())
	if err != nil {
		return r, nil // it is being rotated: the next look finds it
	}
	_ = r.close()
	r = newReader(f, q)
	return r, r.visit(ctx, visit)
}

// Summary says what failed of late.
type Summary struct {
	// Failed counts failed attempts, and Last is the newest; nil when there was none.
	Failed int
	Last   *Failure
}

// Recent sums up the failures since an instant, as far as the end of the log tells.
func Recent(ctx context.Context, dir, fleet string, since time.Time) (s Summary, err error) {
	f, err := os.Open(placeOf(dir, fleet).path())
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the log of fleet %s: %w", fleet, err)
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > recentBytes {
		_, err = f.Seek(end-recentBytes, io.SeekStart)
		if err != nil {
			return s, fmt.Errorf("read the log of fleet %s: %w", fleet, err)
		}
	} else if _, err := f.Seek(0, io.SeekStart); err != nil {
		return s, fmt.Errorf("read the log of fleet %s: %w", fleet, err)
	}
	err = newReader(f, Query{Since: since, Failed: true}).visit(ctx, func(r Record) error {
		s.Failed += max(1, r.Repeated)
		s.Last = r.Failure
		return nil
	})
	return s, err
}

// Lines returns the lines of a text without blank ones at its end.
func Lines(text []byte) []string {
	var lines []string
	for line := range bytes.Lines(text) {
		lines = append(lines, strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD"))
	}
	return lines
}
