package logs

import (
	"context"
	"errors"
	"time"

	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/misuse"
)

// Since reads from when on records are wanted: a duration before now, a time, or nothing for all. Errors are about the
// setting since.
func Since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, misuse.Setting("since", "found %.100q, allowed is a duration such as 10m, or a time such as "+
		"2026-01-02T15:04:05Z or 2026-01-02T15:04", text)
}

// MaxTail bounds [Options].Tail: so many records are kept in memory.
const MaxTail = 100_000

// Options say which records of a log are read.
type Options struct {
	joblog.Query
	// Tail is how many of the last records are wanted, at most [MaxTail]; 0 means all.
	Tail int
	// Follow goes on with new records until the context ends.
	Follow bool
}

// Printer shows records one after another.
type Printer interface {
	// Show shows a record.
	Show(r joblog.Record) error
	// Pause is called when there is no record for the moment, and with last when there will be none.
	Pause(last bool) error
}

// Read shows the records of a fleet's log in the directory of logs, the oldest first, and returns how many. With
// Follow the end of the context is no error.
func Read(ctx context.Context, dir, fleet string, o Options, p Printer) (shown int, err error) {
	last := &lastRecords{most: o.Tail, visit: func(r joblog.Record) error {
		shown++
		return p.Show(r)
	}}
	if o.Follow {
		idle := func() error { return errors.Join(last.flush(), p.Pause(false)) }
		err = joblog.Follow(ctx, dir, fleet, o.Query, last.take, idle)
		if errors.Is(err, context.Canceled) {
			err = nil // the end of following is an interrupt
		}
		return shown, errors.Join(err, p.Pause(true))
	}
	err = errors.Join(joblog.Read(ctx, dir, fleet, o.Query, last.take), last.flush(), p.Pause(true))
	return shown, err
}

// lastRecords passes on the last records of a log alone, until it is flushed, and then every one.
type lastRecords struct {
	most    int
	visit   func(joblog.Record) error
	ring    []joblog.Record
	flushed bool
}

func (l *lastRecords) take(r joblog.Record) error {
	if l.most == 0 || l.flushed {
		return l.visit(r)
	}
	if l.ring = append(l.ring, r); len(l.ring) >= 2*l.most {
		l.ring = append(l.ring[:0], l.ring[len(l.ring)-l.most:]...)
	}
	return nil
}

func (l *lastRecords) flush() error {
	if l.flushed {
		return nil
	}
	l.flushed = true
	for _, r := range l.ring[max(0, len(l.ring)-l.most):] {
		if err := l.visit(r); err != nil {
			return err
		}
	}
	l.ring = nil
	return nil
}
