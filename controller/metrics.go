package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/policy"
)

// Reads returns what a [metrics.Meter] has to read for the fleet's policy, sorted by key; none for most policies.
func (s Settings) Reads() (queries []metrics.Query) {
	for _, u := range s.uses {
		if !u.Own {
			queries = append(queries, u.Query)
		}
	}
	return queries
}

// newPeriod tells whether a period of a metric that we keep ourselves began since a decision was recorded. What the
// metric was in a period is known from the records alone, so each period needs one.
func (s *Settings) newPeriod(recorded, now time.Time) bool {
	return slices.ContainsFunc(s.uses, func(u policy.MetricUse) bool {
		return u.Own && !metrics.PeriodAt(recorded,
			u.Query.PeriodSeconds).Equal(metrics.PeriodAt(now, u.Query.PeriodSeconds))
	})
}

// meter keeps what was read last. What could be read before counts until it is too old.
func (st *State) meter(x Metered) {
	if x.Failure != "" && st.metered != nil && len(st.metered.Series) > 0 {
		x = Metered{At: st.metered.At, Series: st.metered.Series, Failure: x.Failure}
	}
	st.metered = &x
}

// meterStale is how old what was read of metrics may be, in periods of each metric: then it is unknown.
const meterStale = 3

// metrics are the series for the policy, sorted by key: of our own the past periods, which the last record tells; of
// others what was read.
func (s *Settings) metrics(st *State, now time.Time) []metrics.Series {
	if len(s.uses) == 0 {
		return nil
	}
	var all []metrics.Series
	if whole := st.last().whole; whole != nil {
		all = policy.Remember(s.uses, *whole, s.Queues, now)
	} else {
		all = policy.Remember(s.uses, muster.Observation{}, s.Queues, now)
	}
	var metered Metered
	if st.metered != nil {
		metered = *st.metered
	}
	age := now.Sub(metered.At)
	for _, u := range s.uses {
		if u.Own {
			continue
		}
		unknown := metrics.Series{Key: u.Query.Key(), Reason: "nobody reads metrics of CloudWatch for this fleet"}
		if metered.Failure != "" {
			unknown.Reason = metered.Failure
		}
		i := slices.IndexFunc(metered.Series, func(m metrics.Series) bool { return m.Key == unknown.Key })
		switch {
		case i >= 0 && age <= meterStale*time.Duration(u.Query.PeriodSeconds)*time.Second:
			all = append(all, bounded(metered.Series[i]))
			continue
		case i >= 0:
			unknown.Reason = fmt.Sprintf("it was last read %s ago",
				render.Seconds(age.Seconds())) + because(metered.Failure)
		}
		all = append(all, unknown)
	}
	slices.SortFunc(all, func(a, b metrics.Series) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

func because(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + failure
}

// bounded returns s with its newest points alone, if it has more than an observation carries.
func bounded(s metrics.Series) metrics.Series {
	if k := len(s.Points); k > 0 && s.Points[k-1].N >= metrics.MaxPoints {
		first := s.Points[k-1].N - metrics.MaxPoints + 1
		s.Start = s.Start.Add(time.Duration(first*s.PeriodSeconds) * time.Second)
		points := make([]metrics.Point, 0, metrics.MaxPoints)
		for _, p := range s.Points {
			if p.N >= first {
				points = append(points, metrics.Point{N: p.N - first, Value: p.Value})
			}
		}
		s.Points = points
	}
	return s
}
