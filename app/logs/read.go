package logs

import (
	"context"
	"errors"
	"time"

	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/misuse"
)

// Since parses the time from which records are wanted: a duration before now, or a time. An empty text is the zero
// time, for all. Errors are about the setting since.
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

// MaxTail bounds [Options].Tail, because these records are held in memory.
const MaxTail = 100_000

// Options select records of a log.
type Options struct {
	joblog.Query
	// Tail selects the last records, at most [MaxTail]; 0 selects all.
	Tail int
	// Follow waits for new records until the context ends.
	Follow bool
}

// Printer prints records one after another.
type Printer interface {
	// Show prints a record.
	Show(r joblog.Record) error
	// Pause is called when no record is available yet; last says that none will follow.
	Pause(last bool) error
}

// Read prints the records of a fleet's log below dir, the oldest first, and returns their number. With Follow, the end
// of the context is no error.
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

// lastRecords keeps only the last records until it is flushed; afterwards it passes on every record.
type lastRecords struct {
	most    int
	visit   func(joblog.Record) error
	ring    []joblog.Record
	flushed bool
}

// take keeps a record, or passes it on. It forgets the older half when the ring is twice as long as needed, so that
// memory stays bounded.
func (l *lastRecords) take(r joblog.Record) error {
	if l.most == 0 || l.flushed {
		return l.visit(r)
	}
	if l.ring = append(l.ring, r); len(l.ring) >= 2*l.most {
		l.ring = append(l.ring[:0], l.ring[len(l.ring)-l.most:]...)
	}
	return nil
}

// flush passes on the kept records, the oldest first. Later calls do nothing.
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
