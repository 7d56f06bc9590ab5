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
	// tested is how many quarters of an hour the backtest covers: a week. fewestTested is how many of them must be
	// known: as many as a day has.
	tested       = 7 * perDay
	fewestTested = perDay
	// shortWeight is the weight of a message that the forecast missed. One message too many weighs 1-shortWeight, a
	// third of it: a late message costs more than an idle worker.
	shortWeight = 0.75
	// winBy is the greatest loss of a used forecast, as a share of the loss of reacting. A forecast that is only as
	// good as reacting is not worth the risk.
	winBy = 0.9
	// levelPrior is added to both sides of the ratio that gives the level, in messages, so that a few messages at night
	// do not change it. maxLevel bounds the level, and 1/maxLevel bounds it from below.
	levelPrior, maxLevel = 20.0, 4.0
	// longestAhead is the longest forecast horizon.
	longestAhead = 12 * time.Hour
)

// season is a period that may repeat. The forecast for a quarter of an hour is the mean of the quarters a whole number
// of periods before it, at most `most` of them.
type season struct {
	name   string
	period int // in quarters of an hour
	most   int // the number of past periods in the mean
}

// seasons returns the seasons that are tried. An earlier one wins a tie.
func seasons() []season { return []season{{"day", perDay, 7}, {"week", 7 * perDay, 4}} }

// Forecast returns the highest rate expected in any quarter of an hour from now until ahead has passed, at most twelve
// hours. It is the seasonal naive forecast, corrected by the present level:
//
//	forecast = usual * level
//	usual    = mean of the same quarter in earlier periods (days or weeks)
//	level    = messages of the last known hour / usual messages of that hour
//
// The forecast is used only if it would have been right in the past. A backtest computes it for each known quarter of
// the past week with the knowledge of that time, and compares it with reacting: taking the rate of the quarter before.
// The loss is the quantile loss, in which a message too few counts three times a message too many. The forecast is used
// if its loss is a tenth below that of reacting, over at least a day of quarters. The current quarter is incomplete and
// never counts.
func (s Season) Forecast(now time.Time, ahead time.Duration) muster.Forecast {
	at := now.Unix() / quarter
	ahead = min(max(0, ahead), longestAhead)
	target := now.Add(ahead).Unix() / quarter
	past, horizon := s.before(at), int(target-at)+1
	f := muster.Forecast{AheadSeconds: ahead.Seconds()}
	var chosen backtest
	var best score
	for _, x := range seasons() {
		h := newBacktest(x, past, horizon)
		if t := h.run(); t.better(best) {
			chosen, best = h, t
		}
	}
	if best.count < fewestTested {
		f.Reason = fmt.Sprintf("only %s of an hour could be tested, %d are needed",
			render.Plural(best.count, "quarter"), fewestTested)
		return f
	}
	f.Season, f.Tested = chosen.name, best.count
	f.MissPerSecond, f.ReactingMissPerSecond = best.missed/quarter, best.reacting/quarter
	expected := slices.Max(chosen.usual[len(past):])
	if expected == unknown {
		f.Reason = "no earlier " + chosen.name + " has a count for the coming quarter of an hour"
		return f
	}
	expected *= chosen.level(len(past) - 1)
	f.Known = true
	f.PerSecond, f.ErrorPerSecond = expected/quarter, best.error(expected)/quarter
	f.LatelyPerSecond = chosen.lately() / quarter
	f.Used = f.MissPerSecond < winBy*f.ReactingMissPerSecond
	if !f.Used {
		f.Reason = "its error was not a tenth below that of the last minutes' rate"
	}
	return f
}

// backtest compares the forecasts of one season with the past.
type backtest struct {
	season
	past []float64 // messages of each quarter of an hour, or unknown
	// horizon is the forecast horizon in quarters of an hour; 1 is the next quarter.
	horizon int
	// usual is the mean of the same quarter in earlier periods, for every past quarter and on to the end of the
	// horizon; unknown if there is none. The horizon is shorter than a period, so that it needs no quarter of the
	// future.
	usual []float64
}

// newBacktest computes the usual messages of every quarter.
func newBacktest(x season, past []float64, horizon int) backtest {
	h := backtest{season: x, past: past, horizon: horizon, usual: make([]float64, len(past)+horizon)}
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

// score is the result of a backtest.
type score struct {
	count int // the tested quarters
	// missed and reacting are the mean loss of the forecast and of reacting, in messages per quarter.
	missed, reacting float64
	// forecast are the forecasts, and off the relative error of each: positive if more messages came.
	forecast, off []float64
}

// better tells whether t is the better score. A score with too few quarters loses against one with more; otherwise the
// smaller loss relative to reacting wins, because two seasons may be tested on different quarters.
func (t score) better(than score) bool {
	if t.count < fewestTested || than.count < fewestTested {
		return t.count > than.count
	}
	return t.missed*than.reacting < than.missed*t.reacting
}

// run computes the forecast and the reaction for every quarter of the past week that is known.
func (h backtest) run() (t score) {
	for i := max(0, len(h.past)-tested); i < len(h.past); i++ {
		// Reacting sees a part of its current quarter already, so it gets one quarter more than the forecast.
		last := i - max(1, h.horizon-1)
		if h.past[i] == unknown || last < 0 || h.past[last] == unknown || h.usual[i] == unknown {
			continue
		}
		forecast := h.usual[i] * h.level(i-h.horizon)
		t.count++
		t.missed += loss(h.past[i] - forecast)
		t.reacting += loss(h.past[i] - h.past[last])
		t.forecast = append(t.forecast, forecast)
		t.off = append(t.off, (h.past[i]-forecast)/math.Max(1, forecast))
	}
	n := math.Max(1, float64(t.count))
	t.missed, t.reacting = t.missed/n, t.reacting/n
	return t
}

// loss is the quantile loss of a forecast that was too low by missing messages, too high if negative.
func loss(missing float64) float64 { return math.Max(shortWeight*missing, (shortWeight-1)*missing) }

// error returns the margin in messages that covers three quarters of the past errors, at least 0. It considers the
// quarters with a forecast of similar size, because relative errors are larger at quiet times; with fewer than 16 such
// quarters, it considers all.
func (t score) error(forecast float64) float64 {
	const few = 16
	var off []float64
	for i, x := range t.forecast {
		if x >= forecast/2 && x <= forecast*2 {
			off = append(off, t.off[i])
		}
	}
	if len(off) < few {
		off = slices.Clone(t.off)
	}
	slices.Sort(off)
	return math.Max(0, off[min(len(off)-1, int(shortWeight*float64(len(off))))]*math.Max(1, forecast))
}

// level returns the ratio of actual to usual messages in the hour that ended with the quarter last, 1/4 to 4. Quarters
// that are unknown count on neither side.
func (h backtest) level(last int) float64 {
	came, usual := levelPrior, levelPrior
	for i := max(0, last-3); i <= last; i++ {
		if h.usual[i] != unknown && h.past[i] != unknown {
			came, usual = came+h.past[i], usual+h.usual[i]
		}
	}
	return math.Min(maxLevel, math.Max(1/maxLevel, came/usual))
}

// lately returns the highest forecast for a quarter of the last hour at the present level. A policy compares it with
// the forecast to see whether the load is about to rise.
func (h backtest) lately() float64 {
	now := len(h.past)
	return math.Max(0, slices.Max(h.usual[now-4:now])) * h.level(now-1)
}
