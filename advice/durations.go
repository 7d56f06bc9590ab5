package advice

import (
	"math"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/series"
)

const (
	// offBy is by how much a stated duration may differ from the measured one, as a factor; smallest is a difference
	// that never matters.
	offBy    = 1.3
	smallest = 100 * time.Millisecond
	// fewBoots is how many measured boots an advice needs.
	fewBoots = 5
	// visibilityShare is the share of the objective that an advised visibility timeout has: a message of a lost worker
	// comes back in time to be handled. leastVisibility leaves a worker the time for several extensions.
	visibilityShare = 4
	leastVisibility = 10 * time.Second
	// longestVisibility and longestRetention are the limits of SQS.
	longestVisibility = 12 * time.Hour
	longestRetention  = 14 * 24 * time.Hour
	// retentionTimes is how many times the greatest measured age a retention must be.
	retentionTimes = 4
)

// off tells whether a stated duration is clearly not the measured one.
func off(stated, measured time.Duration) bool {
	a, b := stated.Seconds(), measured.Seconds()
	return math.Abs(a-b) > smallest.Seconds() && (a > b*offBy || b > a*offBy)
}

// mean returns the mean of measured durations.
func mean(d series.Durations) time.Duration {
	return time.Duration(d.SumSeconds / float64(max(1, d.Count)) * float64(time.Second))
}

// processing compares a stated mean processing duration with the measured one. A policy takes the stated one until it
// has measured, and the rule of an acceptable backlog per worker is as wrong as its mean.
func processing(s Stated, m Measured) (*Advice, *Unjudged) {
	switch {
	case s.Processing == 0:
		return nil, nil
	case m.Unreported || m.Processing.Count < smallestSamples:
		return unjudged("workers that report, and a window with more messages", "%d durations were measured, %d are "+
			"needed", m.Processing.Count, smallestSamples)
	}
	is := mean(m.Processing)
	if !off(s.Processing, is) {
		return nil, nil
	}
	return lasting(Processing, s.Processing, rounded(is), "messages take %s on average (p95 %s), not %s",
		render.Rounded(is), render.Seconds(series.Quantile(m.Processing, 0.95)), Text(s.Processing)).
		resting(m, m.Processing.Count, smallestSamples), nil
}

// boot compares the stated boot time with the measured one.
func boot(s Stated, m Measured) (*Advice, *Unjudged) {
	if m.Boots.Count < fewBoots {
		return unjudged("a window with more launches", "%d boots were measured, %d are needed", m.Boots.Count, fewBoots)
	}
	is := mean(m.Boots)
	if !off(s.Boot, is) {
		return nil, nil
	}
	return lasting(Boot, s.Boot, rounded(is), "members boot in %s on average (p95 %s), not in %s; the stated time "+
		"counts "+
		"until boots were measured, so after each long pause", render.Rounded(is),
		render.Seconds(series.Quantile(m.Boots, 0.95)), Text(s.Boot)).resting(m, m.Boots.Count, fewBoots), nil
}

// objective finds an objective that the work alone exceeds: then no number of workers meets it.
func objective(s Stated, m Measured) (*Advice, *Unjudged) {
	if m.Unreported || m.Processing.Count < smallestSamples {
		return unjudged("workers that report, and a window with more messages",
			"%d durations were measured, %d are needed", m.Processing.Count, smallestSamples)
	}
	q := s.Objective.Quantile
	work := time.Duration(series.Quantile(m.Processing, q) * float64(time.Second))
	if time.Duration(float64(work)*(1-2*series.Accuracy)) <= s.Objective.Latency {
		return nil, nil
	}
	needs := rounded(time.Duration(float64(work)*offBy) + mean(m.Boots))
	return lasting(Latency, s.Objective.Latency, min(needs, longestRetention), "the work alone takes %s for %s of the "+
		"messages, so no number of workers finishes them within %s; or split the work into smaller messages",
		render.Rounded(work), share(q), Text(s.Objective.Latency)).
		resting(m, m.Processing.Count, smallestSamples), nil
}

// visibility compares the visibility timeout with the objective, because the message of a lost worker comes back only
// after it, and with what workers lost.
func visibility(s Stated, m Measured) (*Advice, *Unjudged) {
	switch {
	case !s.Reported || s.Visibility == 0:
		return unjudged("the --visibility of muster work on the members: one longer than the objective makes the "+
			"message of a lost worker late", "the visibility timeout of workers elsewhere is not known here")
	case m.LeasesLost >= 3 && s.Visibility < longestVisibility:
		return lasting(Visibility, s.Visibility, min(2*s.Visibility, longestVisibility), "the visibility timeout of "+
			"%s "+
			"ended while a worker had the message, so that its work was repeated",
			render.Plural(m.LeasesLost, "message")).resting(m, int64(m.LeasesLost), 3), nil
	}
	best := max(leastVisibility, rounded(s.Objective.Latency/visibilityShare))
	switch {
	case m.LeasesLost > 0: // it is rather too short than too long
		return nil, nil
	case m.Processing.Count < smallestSamples && m.MembersLost == 0:
		return unjudged("a window with more messages", "%s in this window, %d are needed",
			render.Plural(int(m.Processing.Count), "message")+" finished", smallestSamples)
	case s.Visibility <= s.Objective.Latency || best >= s.Visibility:
		return nil, nil // no timeout ended during work, and a lost message comes back in time
	case m.MembersLost == 0:
		return unjudged("a window in which a worker was lost", "no worker was lost, so nothing shows that %s is too "+
			"long; a message of a lost worker would come back after it, when it is late already (objective %s)",
			Text(s.Visibility), Text(s.Objective.Latency))
	}
	return lasting(Visibility, s.Visibility, best, "the message of a lost worker comes back after %s, when it is late "+
		"already (objective %s); workers extend the timeout while they work; %s lost in this window",
		Text(s.Visibility),
		Text(s.Objective.Latency), render.Plural(m.MembersLost, "member")+was(m.MembersLost)).
		resting(m, int64(m.MembersLost), 1), nil
}

// was is the verb for a number of things.
func was(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

// retention compares how long the queue keeps messages with how old they became.
func retention(s Stated, m Measured) (*Advice, *Unjudged) {
	switch {
	case s.Retention == 0:
		return unjudged("the attributes of the queue: muster doctor shows those of SQS",
			"the retention of a queue outside of Muster is not known here")
	case !m.OldestKnown:
		return unjudged("a queue that tells ages", "the age of the oldest message was never known")
	case m.Oldest == 0 && m.Processing.Count == 0:
		return unjudged("a window with messages", "no message waited or finished in this window")
	}
	needs := max(m.Oldest, s.Objective.Latency) * retentionTimes
	if needs <= s.Retention || s.Retention >= longestRetention {
		return nil, nil
	}
	best := min((needs+time.Hour-1)/time.Hour*time.Hour, longestRetention)
	return lasting(QueueRetention, s.Retention, best, "messages waited for up to %s (objective %s); the queue "+
		"deletes a "+
		"message after %s, finished or not", render.Rounded(m.Oldest), Text(s.Objective.Latency), Text(s.Retention)).
		resting(m, max(1, int64(m.Covered/time.Minute)), 60), nil
}

// rounded rounds a duration up to two or three figures, as a person would write it. It is at least a millisecond.
func rounded(d time.Duration) time.Duration {
	step := time.Millisecond
	for _, x := range []struct{ from, step time.Duration }{
		{time.Second, 100 * time.Millisecond}, {10 * time.Second, time.Second}, {time.Minute, 5 * time.Second},
		{10 * time.Minute, time.Minute}, {time.Hour, 10 * time.Minute}, {10 * time.Hour, time.Hour},
	} {
		if d >= x.from {
			step = x.step
		}
	}
	return max(1, (d+step-1)/step) * step
}
