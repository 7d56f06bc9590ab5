package dynamoreport

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// ReadEvery is the time between two reads of a fleet's entries.
	ReadEvery = 10 * time.Second
	// pagesPerSecond bounds the pages that are read of one table, for all fleets together; pageBurst is how many at
	// once.
	pagesPerSecond = 10
	pageBurst      = 20
	// readSlack lets a read be due that is asked for by a clock which ticks a little early.
	readSlack = time.Second
	// maxReadPause bounds the pause after reads that failed.
	maxReadPause = 5 * time.Minute
)

// Reader reads one table for the controllers of several fleets, which share its limit: ten pages of a megabyte in a
// second. A fleet is read every ten seconds, so a table serves about a hundred fleets. It is safe for use by several
// goroutines.
type Reader struct {
	table  *Table
	region string
	pages  *rate.Limiter
}

// NewReader returns the reader of a table, which is in the named region.
func NewReader(t *Table, region string) *Reader {
	return &Reader{table: t, region: region, pages: rate.NewLimiter(pagesPerSecond, pageBurst)}
}

// Follow begins to follow the workers of a fleet, for one controller.
func (r *Reader) Follow(fleet string) *Follower { return &Follower{reader: r, fleet: fleet} }

// Follower tells one controller what is new in the entries of its fleet. It is safe for use by several goroutines.
type Follower struct {
	reader *Reader
	fleet  string

	mu sync.Mutex
	// seen are the entries of the last read, by member and worker; its size is bounded by [MaxEntries].
	seen map[[2]string]Entry
	// beganAt is when the first read began that succeeded, readAt when the last one did.
	beganAt, readAt time.Time
	// triedAt is when the last read began, failed what came of it, and failures how many got nothing in a row.
	triedAt  time.Time
	failed   error
	failures int
}

// Reports returns the reports that are new since it was last called, by member and worker; none when it is not time to
// read again. It may be called as often as one likes, with the present instant. The instant of a report, its At, is
// when the worker wrote it by its own clock, but never before the last read, which did not find it, nor after now: so a
// wrong clock makes no report of today one of yesterday.
//
// Its counts are those since the last read. What a worker had counted when the first read found it is nobody's news:
// most of it was counted before, so those counts are zero.
//
// Entries that nobody can believe are left out; the error says which, beside the reports of the others. When nothing
// could be read, the error is an [awsapi.Error], and the next reads are ever rarer, down to one in five minutes. An
// error stands until the next read.
func (f *Follower) Reports(ctx context.Context, now time.Time) ([]protocol.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if since := now.Sub(f.triedAt); !f.triedAt.IsZero() && since >= 0 && since < f.pause() {
		return nil, f.failed
	}
	f.triedAt = now
	entries, err := f.reader.table.read(ctx, f.fleet, now, f.reader.pages.Wait)
	if err != nil && entries == nil {
		f.failures++
		f.failed = awsapi.Explain("read the reports of workers in the table "+f.reader.table.name+" of DynamoDB",
			f.reader.region, err)
		return nil, f.failed
	}
	f.failures, f.failed = 0, err
	return f.news(entries, now), err
}

// pause is how long after a read the next one is due.
func (f *Follower) pause() time.Duration {
	return min(ReadEvery<<min(f.failures, 10), maxReadPause) - readSlack
}

// news remembers the entries of a read that began at now, and returns what is new in them.
func (f *Follower) news(entries []Entry, now time.Time) (reports []protocol.Report) {
	if f.beganAt.IsZero() {
		f.beganAt = now
	}
	seen := make(map[[2]string]Entry, len(entries))
	for _, e := range entries {
		key := [2]string{e.Report.Member, e.Report.Worker}
		before, known := f.seen[key]
		seen[key] = e
		if known && before.Report.Seq == e.Report.Seq && before.Started.Equal(e.Started) {
			continue
		}
		r := e.Since(before)
		if !known && !e.Started.After(f.beganAt) {
			r.Finished, r.Failed, r.Processing, r.Classes = 0, 0, series.Durations{}, nil
			r.Failing = series.Durations{}
		}
		r.At = between(f.readAt, e.Report.SentAt, now)
		reports = append(reports, r)
	}
	f.seen, f.readAt = seen, now
	return reports
}

// between returns at, or what is nearest to it from early to late.
func between(early, at, late time.Time) time.Time {
	switch {
	case at.After(late):
		at = late
	case at.Before(early):
		at = early
	}
	return at.UTC().Round(0)
}
