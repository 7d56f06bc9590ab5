package series

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

const (
	// tested is how far back a forecast is tested, fewestTested how many quarters of an hour that takes at least: a day
	// of them.
	tested       = 7 * perDay
	fewestTested = perDay
	// dear is how much dearer a message too few is than one too many, as a share of both: three times.
	dear = 0.75
	// surely is how much less than reacting a forecast must have missed by.
	surely = 0.9
	// steadying is by how many messages the last hour is steadied before its level is taken, mostLevel how far that may
	// go.
	steadying, mostLevel = 20.0, 4.0
	// longestAhead bounds how far a forecast reaches.
	longestAhead = 12 * time.Hour
)

// season is what repeats: the forecast for a quarter of an hour is the mean of those a whole number of periods before
// it.
type season struct {
	name   string
	period int // in quarters of an hour
	most   int // periods that count
}

func seasons() []season { return []season{{"day", perDay, 7}, {"week", 7 * perDay, 4}} }

// Forecast tells how fast messages will come until the given time from now is over, at most twelve hours: in the
// busiest quarter of an hour from the present one on. It goes by those that came in the same quarter of an hour of
// days, or of weeks, before: their mean, times what came in the last known hour over what their mean was for that (the
// seasonal naive forecast, corrected by the level).
//
// It is tested against what came: for each quarter of an hour of the past week, as it would have been told that long
// before, beside the rate of the quarter of an hour before it, which is what reacting goes by. What is too
// little counts three times what is too much. It is used while it missed by a tenth less than reacting, over a day at
// least. Nothing of now's own quarter of an hour counts.
func (s Season) Forecast(now time.Time, ahead time.Duration) muster.Forecast {
	at := now.Unix() / quarter
	ahead = min(max(0, ahead), longestAhead)
	target := now.Add(ahead).Unix() / quarter
	past, lead := s.before(at), int(target-at)+1
	f := muster.Forecast{AheadSeconds: ahead.Seconds()}
	var chosen hindsight
	var trial trial
	for _, x := range seasons() {
		h := lookBack(x, past, lead)
		if t := h.try(); t.better(trial) {
			chosen, trial = h, t
		}
	}
	if trial.count < fewestTested {
		f.Reason = fmt.Sprintf("%s of an hour could be tested, it takes %d", render.Plural(trial.count, "quarter"),
			fewestTested)
		return f
	}
	f.Season, f.Tested = chosen.name, trial.count
	f.MissPerSecond, f.ReactingMissPerSecond = trial.missed/quarter, trial.reacting/quarter
	expected := slices.Max(chosen.usual[len(past):])
	if expected == unknown {
		f.Reason = "of the coming quarter of an hour no " + chosen.name + " before is known"
		return f
	}
	expected *= chosen.level(len(past) - 1)
	f.Known = true
	f.PerSecond, f.ErrorPerSecond = expected/quarter, trial.error(expected)/quarter
	f.LatelyPerSecond = chosen.lately() / quarter
	f.Used = f.MissPerSecond < surely*f.ReactingMissPerSecond
	if !f.Used {
		f.Reason = "it did not miss by a tenth less than going by the last minutes"
	}
	return f
}

// hindsight tests the forecasts of a season against what came.
type hindsight struct {
	season
	past []float64 // in each quarter of an hour, unknown where nobody looked
	// lead is how many quarters of an hour before its end the one that is told was not known: 1 is the next one.
	lead int
	// usual is, for each quarter of an hour of the past and up to the one that is told, the mean of the same one in the
	// periods before; unknown where there is none. What is told lies less than a period ahead.
	usual []float64
}

func lookBack(x season, past []float64, lead int) hindsight {
	h := hindsight{season: x, past: past, lead: lead, usual: make([]float64, len(past)+lead)}
	for i := range h.usual {
		sum, n := 0.0, 0.0
		for k := 1; k <= x.most && i >= k*x.period; k++ {
			if came := past[i-k*x.period]; came != unknown {
				sum, n = sum+came, n+1
			}
		}
		h.usual[i] = unknown
		if n > 0 {
			h.usual[i] = sum / n
		}
	}
	return h
}

// trial is how a season did.
type trial struct {
	count            int
	missed, reacting float64 // in the mean, in messages in a quarter of an hour, weighed
	told, off        []float64
}

// better tells whether t says more for its season than another trial for another.
func (t trial) better(than trial) bool {
	if t.count < fewestTested || than.count < fewestTested {
		return t.count > than.count
	}
	return t.missed*than.reacting < than.missed*t.reacting
}

func (h hindsight) try() (t trial) {
	for i := max(0, len(h.past)-tested); i < len(h.past); i++ {
		was := i - max(1, h.lead-1) // who reacts sees some of the present quarter too
		if h.past[i] == unknown || was < 0 || h.past[was] == unknown || h.usual[i] == unknown {
			continue
		}
		told := h.usual[i] * h.level(i-h.lead)
		t.count++
		t.missed += weighed(h.past[i] - told)
		t.reacting += weighed(h.past[i] - h.past[was])
		t.told, t.off = append(t.told, told), append(t.off, (h.past[i]-told)/math.Max(1, told))
	}
	n := math.Max(1, float64(t.count))
	t.missed, t.reacting = t.missed/n, t.reacting/n
	return t
}

// weighed is the loss of a forecast to which so much was missing (the quantile loss).
func weighed(missing float64) float64 { return math.Max(dear*missing, (dear-1)*missing) }

// error is by how much more came, where about as much was told, but for a quarter of the times.
func (t trial) error(told float64) float64 {
	const few = 16
	var off []float64
	for i, x := range t.told {
		if x >= told/2 && x <= told*2 {
			off = append(off, t.off[i])
		}
	}
	if len(off) < few {
		off = slices.Clone(t.off)
	}
	slices.Sort(off)
	return math.Max(0, off[min(len(off)-1, int(dear*float64(len(off))))]*math.Max(1, told))
}

// level is how much more than usual came in the hour that ended with the given quarter.
func (h hindsight) level(last int) float64 {
	came, usual := steadying, steadying
	for i := max(0, last-3); i <= last; i++ {
		if h.usual[i] != unknown && h.past[i] != unknown {
			came, usual = came+h.past[i], usual+h.usual[i]
		}
	}
	return math.Min(mostLevel, math.Max(1/mostLevel, came/usual))
}

// lately is the most that is usual for a quarter of the last hour, at the present level.
func (h hindsight) lately() float64 {
	now := len(h.past)
	return math.Max(0, slices.Max(h.usual[now-4:now])) * h.level(now-1)
}
