package peer

import (
	"math"
	"slices"

	"github.com/muster-scale/muster"
)

// look has the numbers of one evaluation of the Laravel policy.
type look struct {
	at             float64 // seconds since 1970
	backlog, total float64
	done           float64 // messages finished per second
}

// The limits of the estimator: how many evaluations and seconds it keeps; the points and the fit (R squared) that a
// forecast needs; its weight and horizon in seconds; and the trust that the growth needs.
const (
	rateLooks   = 30
	rateSeconds = 300.0
	ratePoints  = 5
	rateFit     = 0.6
	rateWeight  = 0.5
	rateAhead   = 60.0
	rateTrust   = 0.5
)

// looksOf returns the earlier evaluations in the recent decisions, oldest first, with room left for the present one.
func looksOf(recent muster.Recent, now float64) []look {
	var looks []look
	for i := len(recent) - 1; i >= 0 && len(looks) < rateLooks-1; i-- {
		p := recent[i]
		at, ok := p.Find(keptLooked)
		if !ok || now-at > rateSeconds+tick {
			break
		}
		if at > now-tick || len(looks) > 0 && looks[len(looks)-1].at <= at {
			continue
		}
		l := look{at: at}
		l.backlog, _ = p.Find(keptBacklog)
		l.total, _ = p.Find(keptTotal)
		l.done, _ = p.Find(keptDone)
		looks = append(looks, l)
	}
	slices.Reverse(looks)
	return looks
}

// throughput returns the messages finished per second: those that arrived in the past minute less the growth of the
// work.
func throughput(o muster.Observation, looks []look, now look) float64 {
	if !o.Arrivals.Known {
		return 0
	}
	grown := 0.0
	for _, l := range looks {
		if now.at-l.at <= 60+tick {
			grown = (now.total - l.total) / (now.at - l.at)
			break
		}
	}
	return min(max(0, o.Arrivals.Minute-grown), math.MaxFloat64)
}

// arrivalRate estimates the arrivals per second: the throughput plus the growth of the backlog, in which recent growth
// weighs most. If a straight line fits, a forecast makes half of it. Without trust in the growth it is the throughput;
// without any throughput it is a guess from the backlog.
func arrivalRate(looks []look, age, goal float64) float64 {
	now := looks[len(looks)-1]
	rate := now.done
	if growth, trust := growing(looks); trust >= rateTrust {
		rate = max(0, now.done+growth)
		if ahead, fits := forecast(looks, now.done); fits {
			rate = rateWeight*ahead + (1-rateWeight)*rate
		}
	}
	if rate > 0 || now.backlog < 3 {
		return rate
	}
	base := now.backlog / max(goal, 1)
	if age > 0 {
		return base * min(age/max(goal*0.5, 1), 2)
	}
	return base
}

// growing returns the weighted growth of the backlog per second, and how far it can be trusted, 0 to 1.
func growing(looks []look) (growth, trust float64) {
	first, now := looks[0], looks[len(looks)-1]
	span := now.at - first.at
	if len(looks) < 2 || span < 1 {
		return 0, 0.3
	}
	sum, weights := 0.0, 0.0
	for i := 1; i < len(looks); i++ {
		weight := math.Pow(2, float64(i))
		sum += weight * (looks[i].backlog - looks[i-1].backlog) / (looks[i].at - looks[i-1].at)
		weights += weight
	}
	switch {
	case span >= 5 && span <= 30:
		trust = 0.9
	case span >= 2 && span <= 60:
		trust = 0.7
	default:
		trust = 0.5
	}
	trust *= 0.8 + 0.2*min(float64(len(looks)-1)/3, 1)
	change := math.Abs(now.backlog - first.backlog)
	if change < 3 {
		return sum / weights, trust * 0.6
	}
	return sum / weights, trust * (0.7 + 0.3*min(change/10, 1))
}

// forecast fits a least-squares line through the past rates and extrapolates it by a minute. fits is true if the line
// explains enough of their variation.
func forecast(looks []look, done float64) (rate float64, fits bool) {
	n := float64(len(looks) - 1)
	if n < ratePoints {
		return 0, false
	}
	// Times are relative to the newest evaluation: squares of seconds since 1970 would leave no digits for the rest.
	last := looks[len(looks)-1].at
	var sx, sy, sxx, sxy, syy float64
	for i := 1; i < len(looks); i++ {
		x := looks[i].at - last
		y := max(0, done+(looks[i].backlog-looks[i-1].backlog)/(looks[i].at-looks[i-1].at))
		sx, sy, sxx, sxy, syy = sx+x, sy+y, sxx+x*x, sxy+x*y, syy+y*y
	}
	spreadX, spreadY, both := sxx-sx*sx/n, syy-sy*sy/n, sxy-sx*sy/n
	if spreadX < 1e-12 {
		return sy / n, true
	}
	slope := both / spreadX
	fit := 1.0
	if spreadY >= 1e-12 {
		fit = both * both / (spreadX * spreadY)
	}
	rate = max(0, slope*rateAhead+(sy-slope*sx)/n)
	return rate, fit >= rateFit && !math.IsInf(rate, 0)
}

// steadyThroughput tells whether the throughput of the last ten evaluations varies little.
func steadyThroughput(looks []look) bool {
	looks = looks[max(0, len(looks)-10):]
	if len(looks) < 3 {
		return false
	}
	n, sum, squares := float64(len(looks)), 0.0, 0.0
	for _, l := range looks {
		sum += l.done
	}
	average := sum / n
	if average <= 0 {
		return false
	}
	for _, l := range looks {
		squares += (l.done - average) * (l.done - average)
	}
	return math.Sqrt(squares/n)/average < laravelSteady
}
