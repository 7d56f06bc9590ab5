package learning

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// seasonal is what a fleet with a forecast remembers of past weeks. It is replaced, never changed.
type seasonal struct {
	came series.Season
	// lookedAt is when a record last said what came, or that nothing did.
	lookedAt time.Time
	// forecast was made in the quarter of an hour that began at made, for the one that begins at target. It is none
	// while made is zero.
	forecast     muster.Forecast
	made, target time.Time
}

const (
	// quarter is how finely forecasts tell, lookedEvery how often a fleet with a forecast records that it was looked
	// at.
	quarter     = 15 * time.Minute
	lookedEvery = 5 * time.Minute
	// unknownBoot is how far a forecast reaches while the boot time is not known.
	unknownBoot = 2 * time.Minute
)

// remember takes in what came when.
func (s *seasonal) remember(at time.Time, l Learned) *seasonal {
	came := l.Came
	if len(came) == 0 {
		came = series.CameIn(l.Since, at, l.Arrived, l.Counted)
	}
	if len(came) == 0 {
		return s
	}
	next := *s
	next.came, next.lookedAt = s.came.Add(came), at
	if came[0].From < s.made.Unix() {
		next.made = time.Time{} // a quarter that it was made from is another now
	}
	return &next
}

// Forecast returns the forecast for when a worker that is launched now takes messages. It changes with the quarter of
// an hour.
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
		s = &seasonal{came: s.came, lookedAt: s.lookedAt, forecast: s.came.Forecast(now, ahead), made: made,
			target: target}
		m.seasonal = s
	}
	f := s.forecast
	f.AheadSeconds = ahead.Seconds()
	return f
}

// overdue tells whether it is to be recorded that nothing came.
func (s *seasonal) overdue(now time.Time) bool {
	return s != nil && !now.Truncate(lookedEvery).Equal(s.lookedAt.Truncate(lookedEvery))
}
