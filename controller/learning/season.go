package learning

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// seasonal is the memory of past weeks of a fleet with a forecast. It is replaced, never changed.
type seasonal struct {
	came series.Season
	// recordedAt is the time of the last record with arrivals, or with their absence.
	recordedAt time.Time
	// forecast was made in the quarter of an hour that began at made, for the one that begins at target. There is none
	// while made is zero.
	forecast     muster.Forecast
	made, target time.Time
}

const (
	// quarter is the resolution of forecasts. absentEvery is how often a fleet with a forecast records the absence of
	// arrivals: as often as a Season needs a mark.
	quarter     = 15 * time.Minute
	absentEvery = 5 * time.Minute
	// unknownBoot is the boot time that a forecast assumes while it is unknown.
	unknownBoot = 2 * time.Minute
)

// remember adds the arrivals of a record.
func (s *seasonal) remember(at time.Time, l Learned) *seasonal {
	came := l.Came
	if len(came) == 0 {
		came = series.CameIn(l.Since, at, l.Arrived, l.Counted)
	}
	if len(came) == 0 {
		return s
	}
	next := *s
	next.came, next.recordedAt = s.came.Add(came), at
	if came[0].From < s.made.Unix() {
		next.made = time.Time{} // the record changes a quarter that the forecast was made from
	}
	return &next
}

// Forecast returns the forecast for the time at which a worker launched now takes messages: the boot time and two polls
// ahead. It is computed once a quarter of an hour.
func (m *Memory) Forecast(now time.Time, poll time.Duration, boot muster.Estimate) muster.Forecast {
	s := m.seasonal
	if s == nil {
		return muster.Forecast{}
	}
	ahead := unknownBoot
	if boot.Known {
		ahead = time.Duration(max(boot.MeanSeconds, boot.P95Seconds) * float64(time.Second))
	}
	ahead += 2 * poll
	made, target := now.Truncate(quarter), now.Add(ahead).Truncate(quarter)
	if !made.Equal(s.made) || !target.Equal(s.target) {
		s = &seasonal{came: s.came, recordedAt: s.recordedAt, forecast: s.came.Forecast(now, ahead), made: made,
			target: target}
		m.seasonal = s
	}
	f := s.forecast
	f.AheadSeconds = ahead.Seconds()
	return f
}

// overdue tells whether the absence of arrivals must be recorded now. s may be nil.
func (s *seasonal) overdue(now time.Time) bool {
	return s != nil && !now.Truncate(absentEvery).Equal(s.recordedAt.Truncate(absentEvery))
}
