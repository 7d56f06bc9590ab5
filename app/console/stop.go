package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/app/logs"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/server"
)

const (
	// failingAfter is how long the first failures are collected: by then the worker has written its log.
	failingAfter = time.Second
	// failingEvery is the shortest interval between two lines about a fleet's failures.
	failingEvery = time.Minute
	// maxBusyTold bounds the busy workers that are listed at the end.
	maxBusyTold = 20
)

// failing counts the failed attempts of a fleet that were not printed yet.
type failing struct {
	attempts    int64
	since, said time.Time
}

// failed counts the failed attempts of a step, and prints those of a fleet at most once a minute. The caller holds the
// lock.
func (s *Console) failed(fleet string, now time.Time, attempts int64) {
	if s.failing == nil {
		s.failing = map[string]*failing{}
	}
	f := s.failing[fleet]
	if f == nil {
		f = &failing{}
		s.failing[fleet] = f
	}
	if attempts > 0 && f.attempts == 0 {
		f.since = now
	}
	f.attempts += attempts
	if f.attempts == 0 || now.Sub(f.since) < failingAfter || now.Sub(f.said) < failingEvery {
		return
	}
	over := ""
	if d := now.Sub(f.since); d >= 2*failingAfter {
		over = " within " + render.Seconds(d.Round(time.Second).Seconds())
	}
	see := ""
	// Only local fleets have a log here.
	if slices.Contains(joblog.Fleets(s.logs), fleet) {
		see = lastError(s.logs, fleet, f.since) + ". Retrying with back-off. See muster logs " + fleet
	}
	fmt.Fprintf(s.out, "%s %s %s failed%s%s\n", now.Local().Format("15:04:05"), fleet,
		render.Plural(int(f.attempts), "attempt"), over, see)
	f.attempts, f.said = 0, now
}

// lastError returns the last error in a fleet's log; empty when there is none.
func lastError(dir, fleet string, since time.Time) string {
	recent, err := joblog.Recent(context.Background(), dir, fleet, since.Add(-time.Minute))
	if err != nil || recent.Last == nil {
		return ""
	}
	return "; last error: " + logs.Failure(recent.Last)
}

// Stopping prints that Muster stops, and which members are still busy, the longest first. It leaves out remote workers,
// which go on.
func (s *Console) Stopping(now time.Time, fleets map[string]server.Fleet, stated []config.Fleet) {
	// The caller keeps its map.
	fleets = maps.Clone(fleets)
	for _, f := range stated {
		if !f.Local() {
			delete(fleets, f.Name)
		}
	}
	busy := busyText(busyMembers(now, fleets))
	s.Printf("\nstopping: workers finish their messages in progress; interrupt again to end without waiting for "+
		"them\n%s", busy)
}

// busyMember is a member with messages in progress.
type busyMember struct {
	fleet string
	controller.MemberView
}

// held is how long its messages have been in progress, on average.
func (b busyMember) held() time.Duration {
	return time.Duration(b.HeldSeconds / float64(b.Busy) * float64(time.Second)).Round(time.Second)
}

// busyMembers returns the busy members, those with the longest work first.
func busyMembers(now time.Time, fleets map[string]server.Fleet) (all []busyMember) {
	for _, name := range slices.Sorted(maps.Keys(fleets)) {
		o, ok := fleets[name].Last()
		if !ok {
			continue
		}
		for _, m := range o.Members(now) {
			if m.Busy > 0 {
				all = append(all, busyMember{name, m})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b busyMember) int { return int(b.held() - a.held()) })
	return all
}

// busyText describes the busy members, one line each.
func busyText(all []busyMember) string {
	if len(all) == 0 {
		return "no worker is known to have a message in progress\n"
	}
	var b strings.Builder
	for _, m := range all[:min(len(all), maxBusyTold)] {
		average := ""
		if m.Busy > 1 {
			average = " on average"
		}
		fmt.Fprintf(&b, "  %s: %s has worked on %s for %s%s\n", m.fleet, m.ID, render.Plural(m.Busy, "message"),
			render.Seconds(m.held().Seconds()), average)
	}
	if more := len(all) - maxBusyTold; more > 0 {
		fmt.Fprintf(&b, "  and %s\n", render.Plural(more, "more worker"))
	}
	return b.String()
}
