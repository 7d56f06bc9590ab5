package curves

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"
)

// level is one width of buckets and how long they are kept.
type level struct{ width, keep time.Duration }

// levels are the widths, the finest first. Each divides the next. Their rows are 1950, 1080, 1440, 1344 and 2400 for
// one fleet.
var levels = [...]level{
	{2 * time.Second, 65 * time.Minute}, {20 * time.Second, 6 * time.Hour}, {2 * time.Minute, 48 * time.Hour},
	{15 * time.Minute, 14 * 24 * time.Hour}, {time.Hour, 100 * 24 * time.Hour},
}

const (
	// MaxRows bounds the rows of one fleet.
	MaxRows = 8214
	// MaxPoints bounds the values of a column in one answer.
	MaxPoints = 2000
	// MaxFleets bounds the fleets of a file. Samples of further ones are dropped until older fleets are gone.
	MaxFleets = 2000
	// pruneEvery is the interval between two removals of old buckets.
	pruneEvery = 10 * time.Minute
)

// Store keeps curves. Any goroutine may use it.
type Store struct {
	db database

	mu sync.Mutex
	// open are the buckets that are not complete, by fleet and level; full are the complete ones that are not written.
	open   map[string]*[len(levels)]opened
	full   []row
	pruned time.Time
}

// opened is a bucket that began at a time.
type opened struct {
	start time.Time
	bucket
}

// row is a bucket with its place in the file.
type row struct {
	fleet string
	level int
	opened
}

// Add folds a sample of a fleet into its buckets. Samples of a fleet come in the order of their times; a clock that was
// set back begins a new bucket, which is merged with the older one when it is written.
func (s *Store) Add(fleet string, at time.Time, sample Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.open[fleet]
	if all == nil {
		if len(s.open) >= MaxFleets {
			return
		}
		all = &[len(levels)]opened{}
		s.open[fleet] = all
	}
	for i, l := range levels {
		start := at.Truncate(l.width)
		if o := &all[i]; o.samples > 0 && !o.start.Equal(start) {
			s.full = append(s.full, row{fleet, i, *o})
			*o = opened{}
		}
		all[i] = opened{start, all[i].with(bucketOf(sample))}
	}
}

// maxFull bounds the complete buckets that wait for a file that cannot be written. Beyond it the oldest are dropped.
const maxFull = 100_000

// Flush writes the complete buckets and, from time to time, removes old ones. After an error nothing is lost: the next
// call tries again.
func (s *Store) Flush(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	full := s.full
	s.full = nil
	prune := now.Sub(s.pruned) >= pruneEvery || now.Before(s.pruned)
	s.mu.Unlock()
	if len(full) == 0 && !prune {
		return nil
	}
	if err := s.db.write(ctx, full, now, prune); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.full = append(full, s.full...)
		s.full = s.full[max(0, len(s.full)-maxFull):]
		return fmt.Errorf("write the curves of the fleets: %w; they are tried again", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if prune {
		s.pruned = now
		for fleet, all := range s.open { // a fleet that is gone must not keep its place
			if now.Sub(all[0].start) > time.Hour {
				for i, o := range all {
					if o.samples > 0 {
						s.full = append(s.full, row{fleet, i, o})
					}
				}
				delete(s.open, fleet)
			}
		}
	}
	return nil
}

// Close writes all buckets, complete or not, and closes the file.
func (s *Store) Close(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	for fleet, all := range s.open {
		for i, o := range all {
			if o.samples > 0 {
				s.full = append(s.full, row{fleet, i, o})
			}
		}
	}
	clear(s.open)
	s.mu.Unlock()
	err := s.Flush(ctx, now)
	if closing := s.db.close(); err == nil {
		err = closing
	}
	return err
}

// Window are the curves of one fleet. All columns have one value for each time; NaN is unknown.
type Window struct {
	// From is the start of the first value, and Step the width of each.
	From time.Time
	Step time.Duration
	// Values has a sample for each step.
	Values []Sample
}

// Read returns the curves of a fleet between two times, in at most points values, 1 to [MaxPoints]. A fleet without
// samples has only unknown values.
func (s *Store) Read(ctx context.Context, fleet string, from, to, now time.Time, points int) (Window, error) {
	if points < 1 || points > MaxPoints || !from.Before(to) {
		return Window{}, fmt.Errorf("read the curves of fleet %q: found %d points from %s to %s, allowed are 1 to %d "+
			"and a time before the other", fleet, points, from.Format(time.RFC3339), to.Format(time.RFC3339), MaxPoints)
	}
	i, step := resolution(from, to, now, points)
	w := Window{From: from.Truncate(step), Step: step}
	count := int((to.Sub(w.From) + step - 1) / step)
	sums := make([]bucket, count)
	put := func(o opened) {
		if at := int(o.start.Sub(w.From) / step); at >= 0 && at < count && !o.start.Before(w.From) {
			sums[at] = sums[at].with(o.bucket)
		}
	}
	waiting := s.waiting(fleet, i)
	err := s.db.read(ctx, fleet, i, w.From, to, put)
	if err != nil {
		return Window{}, fmt.Errorf("read the curves of fleet %q: %w", fleet, err)
	}
	for _, o := range waiting {
		put(o)
	}
	w.Values = make([]Sample, count)
	for at, sum := range sums {
		if w.Values[at] = sum.values; sum.samples == 0 {
			w.Values[at] = NewSample()
		}
	}
	return w, nil
}

// waiting returns the buckets of a fleet and level that are not in the file.
func (s *Store) waiting(fleet string, level int) (all []opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.full {
		if r.fleet == fleet && r.level == level {
			all = append(all, r.opened)
		}
	}
	if o := s.open[fleet]; o != nil && o[level].samples > 0 {
		all = append(all, o[level])
	}
	return all
}

// resolution returns the level to read and the width of the values. It is the coarsest level that is fine enough or, if
// that one does not reach back far enough, the finest that does.
func resolution(from, to, now time.Time, points int) (int, time.Duration) {
	wanted := to.Sub(from) / time.Duration(points)
	at := 0
	for i, l := range levels {
		if l.width <= wanted {
			at = i
		}
	}
	for at < len(levels)-1 && now.Sub(from) > levels[at].keep {
		at++
	}
	width := levels[at].width
	// One value more covers what begins before from.
	steps := max(1, int64((to.Sub(from)+width*time.Duration(points)-1)/(width*time.Duration(points))))
	for int64((to.Sub(from.Truncate(width*time.Duration(steps)))+width*time.Duration(steps)-1)/(width*
		time.Duration(steps))) > int64(points) {
		steps++
	}
	return at, width * time.Duration(steps)
}

const (
	// headBytes are before the columns: the number of samples. columnBytes are those of one column: its value in 32
	// bits, which is more than a picture shows, and in how many of 255 parts of the samples it was known.
	headBytes, columnBytes = 4, 5
	allParts               = 255
)

// encode packs a bucket.
func (b bucket) encode() []byte {
	text := make([]byte, 0, headBytes+columnBytes*int(columnCount))
	text = binary.LittleEndian.AppendUint32(text, math.Float32bits(float32(b.samples)))
	for c, v := range b.values {
		text = binary.LittleEndian.AppendUint32(text, math.Float32bits(float32(v)))
		parts := math.Ceil(allParts * b.known[c]) // a value that was known once keeps some weight
		text = append(text, byte(parts))
	}
	return text
}

// decode unpacks a bucket. Columns that an older program did not know are unknown.
func decode(text []byte) bucket {
	b := bucket{values: NewSample()}
	if len(text) < headBytes {
		return b
	}
	b.samples = float64(math.Float32frombits(binary.LittleEndian.Uint32(text)))
	for c := 0; c < int(columnCount) && headBytes+columnBytes*(c+1) <= len(text); c++ {
		at := text[headBytes+columnBytes*c:]
		b.values[c] = float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
		b.known[c] = float64(at[4]) / allParts
	}
	return b
}
