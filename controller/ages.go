package controller

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// rates summarises the arrivals.
func rates(c series.Counts, now time.Time) muster.Arrivals {
	var a muster.Arrivals
	for _, r := range []struct {
		over time.Duration
		rate *float64
	}{{10 * time.Second, &a.TenSeconds}, {time.Minute, &a.Minute}, {5 * time.Minute, &a.FiveMinutes}, {time.Hour, &a.Hour}} {
		*r.rate, a.Known = c.PerSecond(now, r.over)
	}
	return a
}

// windows are those over which the busiest times are told.
func windows() []time.Duration {
	const s = time.Second
	return []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 640 * s}
}

// busiest tells the busiest times.
func busiest(c series.Counts, now time.Time, quantile float64) []muster.Busiest {
	over := windows()
	all := make([]muster.Busiest, len(over))
	for i, n := range c.Envelope(now, quantile, over) {
		all[i] = muster.Busiest{OverSeconds: over[i].Seconds(), Messages: n}
	}
	return all
}

// waiting tells the ages of the backlog, oldest first. A queue hands out what came first, so what waits is what came last:
// the newest arrivals that add up to the backlog. Arrivals too new to be counted are no older than fresh. No age is above
// that of the oldest message, where it is known.
func waiting(st *State, now time.Time, o muster.Observation, fresh time.Duration) []muster.Waiting {
	backlog := o.Backlog()
	if !backlog.Known || backlog.Value < 1 {
		return nil
	}
	oldest := o.OldestAge()
	newest := min(now.Sub(st.learnedAt), fresh)
	left := backlog.Value
	var groups []muster.Waiting // newest first
	add := func(n float64, age time.Duration) {
		seconds := max(0, age.Seconds())
		if oldest.Known {
			seconds = min(seconds, oldest.Value)
		}
		if n <= 0 {
			return
		}
		if k := len(groups) - 1; k >= 0 && groups[k].AgeSeconds == seconds {
			groups[k].Messages += n
			return
		}
		groups = append(groups, muster.Waiting{AgeSeconds: seconds, Messages: n})
	}
	recent := min(left, st.measured.Arrived)
	add(recent, newest)
	left -= recent
	st.arrivals.Newest(now, func(n float64, began time.Duration) bool {
		n = min(n, left)
		add(n, began)
		left -= n
		return left > 0
	})
	if left > 0 {
		// Messages that were there before anything was counted.
		age := time.Duration(0)
		if n := len(groups); n > 0 {
			age = time.Duration(groups[n-1].AgeSeconds * float64(time.Second))
		}
		if oldest.Known {
			age = time.Duration(oldest.Value * float64(time.Second))
		}
		add(left, age)
	}
	return grouped(groups)
}

// grouped returns the groups, which are newest first, oldest first and merged so that there are not too many. A merged group
// counts as old as its oldest.
func grouped(groups []muster.Waiting) []muster.Waiting {
	per := (len(groups) + muster.MaxGroups - 1) / muster.MaxGroups
	var out []muster.Waiting
	for end := len(groups); end > 0; end -= per {
		g := groups[end-1]
		for _, x := range groups[max(0, end-per) : end-1] {
			g.Messages += x.Messages
		}
		out = append(out, g)
	}
	return out
}
