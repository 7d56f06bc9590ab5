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
	// followEvery is the interval at which a followed log is polled.
	followEvery = 200 * time.Millisecond
	// maxLine bounds a line in bytes; it is larger than any record.
	maxLine = 128 << 10
	// recentBytes is the part of a log that [Recent] reads, from its end; latestBytes is that of [Latest].
	recentBytes = 1 << 20
	latestBytes = 4 << 20
)

// Query selects records. The zero Query selects all.
type Query struct {
	// Since leaves out older records.
	Since time.Time
	// Message selects the messages whose ids begin with it.
	Message string
	// Failed selects only failures.
	Failed bool
	// Member selects the records of one member; empty selects all.
	Member string
}

func (q Query) selects(r Record) bool {
	return !r.At.Before(q.Since) && strings.HasPrefix(r.Message, q.Message) && (!q.Failed || r.Kind == Failed) &&
		(q.Member == "" || r.Member == q.Member)
}

// Read calls visit with the selected records of a fleet's log below dir, the oldest first, until visit
// returns an error, which Read returns.
func Read(ctx context.Context, dir, fleet string, q Query, visit func(Record) error) error {
	_, err := read(ctx, placeOf(dir, fleet), q, visit)
	return err
}

// read is Read. It returns a reader at the end of the present file, for Follow; nil if there is no log.
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

// Follow is [Read], and then continues with new records until ctx ends, whose error it returns. It
// calls idle whenever no record is left for the moment.
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
	// part is the beginning of a line whose end is not written yet. skip is set while a line that is
	// too long is skipped.
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

// visit visits the records written since the last call. Lines that are no records are skipped.
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

// next visits new records and returns the reader of the present file, which is another one after a
// rotation.
func (r *reader) next(ctx context.Context, p place, q Query, visit func(Record) error) (*reader, error) {
	if r == nil { // there was no log
		return read(ctx, p, q, visit)
	}
	present, statErr := os.Stat(p.path())
	mine, err := r.file.Stat()
	if err == nil {
		err = r.visit(ctx, visit) // after the stat: once renamed, a file is no longer written
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	if statErr != nil || os.SameFile(present, mine) {
		return r, nil
	}
	f, err := os.Open(p.path())
	if err != nil {
		return r, nil // it is just being rotated; the next poll finds it
	}
	_ = r.close()
	r = newReader(f, q)
	return r, r.visit(ctx, visit)
}

// Summary describes the recent failures of a fleet.
type Summary struct {
	// Failed is the number of failed attempts. Last is the newest of them, or nil.
	Failed int
	Last   *Failure
}

// Recent summarizes the failures since a time, as far back as the last recentBytes of the log reach.
func Recent(ctx context.Context, dir, fleet string, since time.Time) (s Summary, err error) {
	f, _, err := openEnd(dir, fleet, recentBytes)
	if f == nil {
		return s, err
	}
	defer f.Close()
	err = newReader(f, Query{Since: since, Failed: true}).visit(ctx, func(r Record) error {
		s.Failed += max(1, r.Repeated)
		s.Last = r.Failure
		return nil
	})
	return s, err
}

// Lines splits text into lines, without their ends, as valid UTF-8.
func Lines(text []byte) []string {
	var lines []string
	for line := range bytes.Lines(text) {
		lines = append(lines, strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD"))
	}
	return lines
}

// Latest returns up to most selected records of the end of a fleet's log below dir, the oldest first. It reads 4 MiB at
// most; cut says that older records were left out. most is at least 1.
func Latest(ctx context.Context, dir, fleet string, q Query, most int) (records []Record, cut bool, err error) {
	f, cut, err := openEnd(dir, fleet, latestBytes)
	if f == nil {
		return nil, false, err
	}
	defer f.Close()
	err = newReader(f, q).visit(ctx, func(r Record) error {
		// The older half goes when the list is twice as long as needed, so that each record is moved once.
		if records = append(records, r); len(records) >= 2*most {
			records, cut = append(records[:0], records[len(records)-most:]...), true
		}
		return nil
	})
	if len(records) > most {
		records, cut = records[len(records)-most:], true
	}
	return records, cut, err
}

// openEnd opens the present file of a log at most so many bytes before its end; nil if there is no log. cut says that
// the beginning is left out. A reader skips the rest of a line that is cut.
func openEnd(dir, fleet string, most int64) (_ *os.File, cut bool, err error) {
	f, err := os.Open(placeOf(dir, fleet).path())
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the log of fleet %s: %w", fleet, err)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(max(0, end-most), io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, false, fmt.Errorf("read the log of fleet %s: %w", fleet, err)
	}
	return f, end > most, nil
}
