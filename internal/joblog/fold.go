package joblog

import (
	"slices"
	"time"
)

const (
	// window is the time for which equal records of one kind are counted together, and freeOfWindow the
	// number of them that are written.
	window       = 10 * time.Second
	freeOfWindow = 20
	// maxFolds bounds the distinct texts in memory. Beyond it all counts are written and start again.
	maxFolds = 512
)

// folds counts repeated records. A line of a job counts as repeated only directly after an equal line
// of the same message and stream: elsewhere a job may print equal lines that matter, such as a table.
// Failures and lines of the worker count as repeated wherever they stand: of equal ones only the first
// freeOfWindow of each window are written.
type folds struct {
	rows    map[rowKey]*fold
	windows map[windowKey]*fold
}

type rowKey struct{ member, message, stream string }

type windowKey struct {
	kind Kind
	text string
}

// fold is a record with the number of equal ones that were not written.
type fold struct {
	last    Record
	since   time.Time
	written int
	more    int
}

// counted returns the record that stands for the unwritten ones, and resets their number.
func (f *fold) counted() Record {
	r := f.last
	r.Repeated = f.more
	f.more = 0
	return r
}

func newFolds() folds { return folds{map[rowKey]*fold{}, map[windowKey]*fold{}} }

// take returns the records to write for r.
func (f *folds) take(r Record, now time.Time) (out []Record) {
	if len(f.rows)+len(f.windows) >= maxFolds {
		out = f.due(now, true)
	}
	if r.Kind == Output {
		return append(out, f.inRow(r, now)...)
	}
	if r.Kind == Failed {
		out = append(out, f.attemptOver(r.Message)...)
	}
	key := windowKey{r.Kind, r.Text}
	w := f.windows[key]
	if w == nil {
		w = &fold{since: now}
		f.windows[key] = w
	}
	w.last = r
	if w.written == freeOfWindow {
		w.more++
		return out
	}
	w.written++
	return append(out, r)
}

// inRow is take for a line of a job.
func (f *folds) inRow(r Record, now time.Time) (out []Record) {
	key := rowKey{r.Member, r.Message, r.Stream}
	row := f.rows[key]
	switch {
	case row == nil:
		row = &fold{}
		f.rows[key] = row
	case row.last.Text == r.Text:
		if row.more == 0 {
			row.since = now
		}
		row.last = r
		row.more++
		return nil
	case row.more > 0:
		out = append(out, row.counted())
	}
	row.last, row.since = r, now
	return append(out, r)
}

// attemptOver returns the counts of a message whose attempt failed: lines of the next attempt are no
// repetition.
func (f *folds) attemptOver(message string) (out []Record) {
	for _, stream := range []string{"stdout", "stderr"} {
		for key, row := range f.rows {
			if key.message == message && key.stream == stream {
				if row.more > 0 {
					out = append(out, row.counted())
				}
				delete(f.rows, key)
			}
		}
	}
	return out
}

// due returns the counts to write now, of rows and windows that have ended, or of all.
func (f *folds) due(now time.Time, all bool) (out []Record) {
	for key, row := range f.rows {
		over := all || now.Sub(row.since) >= window
		if row.more > 0 && (over || now.Sub(row.since) >= foldEvery) {
			out, row.since = append(out, row.counted()), now
		}
		if over {
			delete(f.rows, key)
		}
	}
	for key, w := range f.windows {
		if !all && now.Sub(w.since) < window {
			continue
		}
		if w.more > 0 {
			out = append(out, w.counted())
		}
		delete(f.windows, key)
	}
	slices.SortStableFunc(out, func(a, b Record) int { return a.At.Compare(b.At) })
	return out
}
