package incident

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// reportedFor is how long the report of a problem counts. Workers repeat one that goes on every minute.
	reportedFor = 90 * time.Second
	// maxReports bounds the reports that are kept.
	maxReports = 200
	// maxActions bounds the actions whose results are awaited.
	maxActions = 64
	// failedFor is how long a failure counts without another result. An action that is still needed is repeated sooner.
	failedFor = 10 * time.Minute
	// grewFor is how long a dead-letter queue counts as growing after its last growth. Counts of SQS may be a minute
	// late.
	grewFor = 2 * time.Minute
)

// Past is what the outcomes of a fleet's steps told, as far as the newest outcome does not repeat it. It is a value;
// the zero Past knows nothing.
type Past struct {
	// awaited are the actions without a result, by the ids of their effects, oldest first.
	awaited []action
	// failed are the failures by action, replaced and never changed.
	failed map[string]failure
	// letters are the counts of dead letters by queue, replaced and never changed.
	letters map[string]letters
	// reported are the problems that workers reported within reportedFor, oldest first.
	reported []report
}

// report is a problem that a worker reported.
type report struct {
	at time.Time
	protocol.Incident
}

// action is an effect, and what it does in words.
type action struct{ id, what string }

// failure is the last failure of an action.
type failure struct {
	at    time.Time
	text  string
	count int // in a row
}

// letters follows the count of one queue's dead letters.
type letters struct {
	// last is the newest count, from the count before the present growth, which began at since. grewAt is the time of
	// the last growth; zero if there was none.
	last, from    float64
	since, grewAt time.Time
}

// With returns p after one more step.
func (p Past) With(o controller.Outcome) Past {
	for _, e := range o.Effects {
		p.awaited = append(slices.Clip(p.awaited), action{e.EffectID(), actionOf(e)})
	}
	if more := len(p.awaited) - maxActions; more > 0 {
		p.awaited = p.awaited[more:]
	}
	for _, c := range o.Changes {
		if c.Incident != nil {
			p.reported = append(slices.Clip(p.reported), report{o.Observation.At, *c.Incident})
		}
	}
	for len(p.reported) > 0 && (len(p.reported) > maxReports ||
		o.Observation.At.Sub(p.reported[0].at) >= reportedFor) {
		p.reported = p.reported[1:]
	}
	for _, r := range o.Records {
		if r.Kind == muster.Resulted {
			p = p.result(r)
		}
	}
	return p.count(o.Observation)
}

// actionOf says what an effect does.
func actionOf(e controller.Effect) string {
	switch e.(type) {
	case controller.SetDesired:
		return "setting the size"
	case controller.End:
		return "ending members"
	case controller.Protect:
		return "protecting members"
	case controller.Trim:
		return "ending machines without members"
	case controller.HandOver:
		return "handing the fleet over to target tracking"
	}
	return "an action"
}

// result notes the result of an action. A result without an awaited action is one from before a restart; it tells
// nothing of the present.
func (p Past) result(r muster.Record) Past {
	var body controller.ResultedBody
	if json.Unmarshal(r.Body, &body) != nil {
		return p
	}
	i := slices.IndexFunc(p.awaited, func(a action) bool { return a.id == body.Effect })
	if i < 0 {
		return p
	}
	what := p.awaited[i].what
	p.awaited = slices.Delete(slices.Clone(p.awaited), i, i+1)
	before, there := p.failed[what]
	if body.Failure == "" && !there {
		return p // the usual case
	}
	if p.failed = maps.Clone(p.failed); p.failed == nil {
		p.failed = map[string]failure{}
	}
	if body.Failure == "" {
		delete(p.failed, what)
	} else {
		p.failed[what] = failure{r.At, body.Failure, before.count + 1}
	}
	return p
}

// count follows the dead letters of each queue. An unknown count says nothing.
func (p Past) count(o muster.Observation) Past {
	cloned := false
	for _, q := range o.Queues {
		before, there := p.letters[q.Queue]
		if now := q.DeadLetters; now.Known && (!there || now.Value != before.last) {
			if !cloned {
				if p.letters = maps.Clone(p.letters); p.letters == nil {
					p.letters = map[string]letters{}
				}
				cloned = true
			}
			p.letters[q.Queue] = before.next(now.Value, o.At, there)
		}
	}
	return p
}

// next returns l after another count. The first count ever is no growth, and a queue that became empty ends one.
func (l letters) next(now float64, at time.Time, there bool) letters {
	switch {
	case now == 0 || !there:
		return letters{last: now, from: now}
	case now > l.last:
		if l.grewAt.IsZero() || at.Sub(l.grewAt) > growthEnds {
			l.from, l.since = l.last, at
		}
		l.grewAt = at
	}
	l.last = now
	return l
}

// growthEnds is the pause after which a growth is another one. It is longer than the time until its incident ends.
const growthEnds = 20 * time.Minute
