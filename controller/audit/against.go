package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/policy"
)

// Contrast tells what became of a fleet that another system sized, beside what Muster would have asked for at each
// instant, given the size that the fleet had then.
type Contrast struct {
	Fleet string    `json:"fleet"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	// Seconds is how long the fleet was watched, Differed how much of it with another size than Muster would have asked
	// for.
	Seconds  float64 `json:"watched_s"`
	Differed float64 `json:"differed_s"`
	// FleetSeconds and MusterSeconds add up the sizes over the time that was watched, in worker-seconds.
	FleetSeconds  float64 `json:"fleet_worker_s"`
	MusterSeconds float64 `json:"muster_worker_s"`
	// More and Fewer are the largest differences: how many workers more or fewer Muster would have asked for.
	More  int `json:"most_more"`
	Fewer int `json:"most_fewer"`
	// Differences are the times at which they differed, oldest first: the newest MaxDifferences.
	Differences []Difference `json:"differences"`
	// Earlier counts differences that are older than those.
	Earlier int `json:"earlier_differences,omitzero"`
}

// MaxDifferences bounds [Contrast.Differences].
const MaxDifferences = 1000

// Difference is a time at which a fleet had another size than Muster would have asked for. Both sizes stayed the same
// over it.
type Difference struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Size is what the fleet had, Desired what Muster would have asked for.
	Size    int `json:"size"`
	Desired int `json:"desired"`
	// Position is that of the first decision, Why its sentence.
	Position muster.Position `json:"position"`
	Why      string          `json:"why"`
}

// unwatched is how long after a decision nobody is known to have watched: decisions are recorded each minute.
const unwatched = 2 * learning.NotedEvery

// contrasting reads records one by one.
type contrasting struct {
	Contrast
	last *Difference
	at   time.Time
}

// Against contrasts the decisions among the records of a fleet that were made in shadow, oldest first. It is false when
// there are none.
func Against(records []muster.Record) (Contrast, bool, error) {
	var c contrasting
	for _, r := range records {
		if !controller.Decides(r) {
			continue
		}
		var spec policy.Spec
		var body controller.Decided
		if err := json.Unmarshal(r.Shared, &spec); err != nil {
			return Contrast{}, false, fmt.Errorf("decision %d: read its policy: %w", r.Position.Seq, err)
		}
		if !spec.Shadow {
			c.until(r.At)
			c.last = nil
			continue
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return Contrast{}, false, fmt.Errorf("decision %d: read its record: %w", r.Position.Seq, err)
		}
		c.add(r, body.Decision)
	}
	if c.last != nil {
		c.note()
	}
	c.Differences = append([]Difference{}, c.Differences...)
	return c.Contrast, !c.From.IsZero(), nil
}

// add takes in a decision.
func (c *contrasting) add(r muster.Record, d muster.Decision) {
	c.until(r.At)
	if c.From.IsZero() {
		c.Fleet, c.From = d.Fleet, r.At
	}
	c.To = r.At
	if c.last != nil && c.last.Size == d.Previous && c.last.Desired == d.Desired && r.At.Sub(c.last.To) == 0 {
		c.at = r.At
		return
	}
	if c.last != nil {
		c.note()
	}
	c.last, c.at = &Difference{From: r.At, To: r.At, Size: d.Previous, Desired: d.Desired, Position: r.Position,
		Why: d.Sentence()}, r.At
	c.More, c.Fewer = max(c.More, d.Desired-d.Previous), max(c.Fewer, d.Previous-d.Desired)
}

// until lets the last decision count until an instant, or for as long as it is known to have held.
func (c *contrasting) until(at time.Time) {
	if c.last == nil {
		return
	}
	held := max(0, at.Sub(c.at))
	if held > unwatched {
		held = 0 // nobody watched in between
	}
	s := held.Seconds()
	c.last.To = c.at.Add(held)
	c.Seconds += s
	c.FleetSeconds += s * float64(c.last.Size)
	c.MusterSeconds += s * float64(c.last.Desired)
	if c.last.Size != c.last.Desired {
		c.Differed += s
	}
}

// note keeps the last time if the sizes differed in it.
func (c *contrasting) note() {
	if c.last.Size == c.last.Desired {
		return
	}
	if c.Differences = append(c.Differences, *c.last); len(c.Differences) > MaxDifferences {
		c.Differences, c.Earlier = c.Differences[1:], c.Earlier+1
	}
}
