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
	// ReadEvery is the interval between two reads of a fleet's entries.
	ReadEvery = 10 * time.Second
	// pagesPerSecond limits the pages read of one table, for all fleets together; pageBurst is the burst.
	pagesPerSecond = 10
	pageBurst      = 20
	// readSlack makes a read due a little early, because the caller's clock may tick early.
	readSlack = time.Second
	// maxReadPause bounds the back-off after failed reads.
	maxReadPause = 5 * time.Minute
)

// Reader reads one table for the controllers of several fleets. They share its limit of ten pages, of a megabyte each,
// per second. A fleet is read every ten seconds, so one table serves about a hundred fleets. Several goroutines may use
// it.
type Reader struct {
	table  *Table
	region string
	pages  *rate.Limiter
}

// NewReader returns the reader of a table, which is in the named region.
func NewReader(t *Table, region string) *Reader {
	return &Reader{table: t, region: region, pages: rate.NewLimiter(pagesPerSecond, pageBurst)}
}

// Follow returns a follower of a fleet's workers, for one controller.
func (r *Reader) Follow(fleet string) *Follower { return &Follower{reader: r, fleet: fleet} }

// Follower returns to one controller what has changed in the entries of its fleet. Several goroutines may use it.
type Follower struct {
	reader *Reader
	fleet  string

	mu sync.Mutex
	// seen are the entries of the last read, by member and worker; its size is bounded by [MaxEntries].
	seen map[[2]string]Entry
	// beganAt is when the first successful read began, readAt when the last one did.
	beganAt, readAt time.Time
	// triedAt is when the last read began, failed is its error, and failures counts the failed reads in a row.
	triedAt  time.Time
	failed   error
	failures int
}

// Reports returns the reports that are new since the last call, by member and worker; none before the next read is due.
// It may be called at any rate, with the current time. The At of a report is when the worker wrote it by its own clock,
// but not before the last read, which did not find it, and not after now. So a wrong clock cannot turn a report of
// today into one of yesterday.
//
// Its counts are those since the last read. The first read cannot tell how much of a worker's counts an earlier
// controller has recorded already, so their counts are zero.
//
// Invalid entries are left out; the error names them, and the result has the valid reports. When nothing could be read,
// the error is an [awsapi.Error], and the reads back off to one in five minutes. An error is repeated until the next
// read.
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
		f.failed = awsapi.Explain("read worker reports from the DynamoDB table "+f.reader.table.name,
			f.reader.region, err)
		return nil, f.failed
	}
	f.failures, f.failed = 0, err
	return f.news(entries, now), err
}

// pause is the interval from a read to the next one.
func (f *Follower) pause() time.Duration {
	return min(ReadEvery<<min(f.failures, 10), maxReadPause) - readSlack
}

// news stores the entries of a read that began at now, and returns the new reports.
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

// between returns at, limited to the range from early to late.
func between(early, at, late time.Time) time.Time {
	switch {
	case at.After(late):
		at = late
	case at.Before(early):
		at = early
	}
	return at.UTC().Round(0)
}
