package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/muster-scale/muster/queue"
)

// Part backlog. The queue keeps an index of every message in memory, which it rebuilds when it opens. The part shows
// how long that takes, how much memory it needs afterwards, and how much at its peak.

const (
	// goalBacklog is the backlog that the goal speaks of, smallBacklog the one that is opened unless asked for more.
	goalBacklog, smallBacklog = 10_000_000, 1_000_000
	// opens is how often a backlog is opened.
	opens = 3
)

// backlog measures how long the durable queue takes to open with many messages in it, and what memory it needs then.
// Without -full it measures a million messages and extrapolates, relative to an empty queue, because opening takes time
// and memory in proportion.
func (b *bench) backlog() error {
	// What an empty queue takes does not grow with the messages.
	none, err := b.openBacklog("none", 0)
	if err != nil {
		return err
	}
	messages := smallBacklog
	if b.full {
		messages = goalBacklog
	}
	many, err := b.openBacklog("many", messages)
	if err != nil {
		return err
	}
	// 1 with -full.
	factor := float64(goalBacklog) / float64(messages)
	seconds := none.Seconds + (many.Seconds-none.Seconds)*factor
	resident := float64(none.Resident) + float64(many.Resident-none.Resident)*factor
	peak := float64(none.Peak) + float64(many.Peak-none.Peak)*factor
	how := fmt.Sprintf("measured, median of %d", opens)
	if !b.full {
		how = fmt.Sprintf("EXTRAPOLATED in proportion from %s messages, median of %d; BENCH_FULL=1 measures it",
			count(float64(messages)), opens)
		b.page.note("Opening %s messages of %d bytes took %.2f s and %s resident, %s at most.",
			count(float64(messages)), bodyBytes, many.Seconds, mib(many.Resident), mib(many.Peak))
	}
	each := float64(many.Live-none.Live) / float64(messages)
	b.page.goal("open a backlog of 10,000,000 messages", "< 30 s", fmt.Sprintf("%.1f s (%s)", seconds, how),
		seconds < 30,
		"every row is read through SQLite once, in one goroutine.")
	b.page.goal("memory of that backlog", "< 300 MiB",
		fmt.Sprintf("%s resident, %s at most while it opens", mib(int64(resident)), mib(int64(peak))), peak < 300<<20,
		fmt.Sprintf("the index in memory has %.1f bytes for each message.", each))
	return nil
}

// openBacklog makes a directory with a backlog and opens it in processes of their own.
func (b *bench) openBacklog(name string, messages int) (median opened, err error) {
	dir := filepath.Join(b.dir, name)
	if err := fill(dir, messages); err != nil {
		return median, err
	}
	var all []opened
	// Each opening has a process of its own, and so a peak of its own.
	for range opens {
		c, err := startRole("open", dir)
		if err != nil {
			return median, err
		}
		var o opened
		if err := json.Unmarshal([]byte(c.says), &o); err != nil {
			return median, err
		}
		if err := c.end(); err != nil {
			return median, err
		}
		// An index that lost messages would open faster.
		if o.Messages != messages {
			return median, fmt.Errorf("found %d messages after opening, want %d", o.Messages, messages)
		}
		all = append(all, o)
	}
	return opened{
		Seconds:  middle(all, func(o opened) float64 { return o.Seconds }),
		Resident: middle(all, func(o opened) int64 { return o.Resident }),
		Peak:     middle(all, func(o opened) int64 { return o.Peak }),
		Live:     middle(all, func(o opened) int64 { return o.Live }),
	}, nil
}

// middle returns the median of a figure over all openings.
func middle[T int64 | float64](all []opened, of func(opened) T) T {
	values := make([]T, len(all))
	for i := range all {
		values[i] = of(all[i])
	}
	return quantile(values, 0.5)
}

// fill sends messages to a new queue. Many senders at once let the writer commit in large groups, which makes ten
// million messages feasible.
func fill(dir string, messages int) error {
	s, err := newQueue(dir)
	if err != nil {
		return err
	}
	const batch, senders = 10, 64
	out := make([]queue.Outgoing, batch)
	for i := range out {
		out[i].Body = strings.Repeat("x", bodyBytes)
	}
	var left atomic.Int64
	left.Store(int64(messages / batch))
	// Room for every sender, so that none waits after a failure.
	failures := make(chan error, senders)
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := s.Send(context.Background(), queueName, out); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failures:
		s.Close()
		return err
	default:
		return s.Close()
	}
}
