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

// Contrast compares a fleet in shadow mode with the sizes that Muster would have set, given the size that the fleet had
// at each time.
type Contrast struct {
	Fleet string    `json:"fleet"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	// Seconds is the observed time, Differed the part of it in which Muster would have set another size.
	Seconds  float64 `json:"watched_s"`
	Differed float64 `json:"differed_s"`
	// FleetSeconds and MusterSeconds are the sizes integrated over the observed time, in worker-seconds.
	FleetSeconds  float64 `json:"fleet_worker_s"`
	MusterSeconds float64 `json:"muster_worker_s"`
	// More and Fewer are the largest differences: how many workers more or fewer Muster would have set.
	More  int `json:"most_more"`
	Fewer int `json:"most_fewer"`
	// Differences are the times of different sizes, oldest first: the newest MaxDifferences.
	Differences []Difference `json:"differences"`
	// Earlier counts the older differences that were dropped.
	Earlier int `json:"earlier_differences,omitzero"`
}

// MaxDifferences bounds [Contrast.Differences].
const MaxDifferences = 1000

// Difference is a time during which the fleet had another size than Muster would have set. Both sizes were constant.
type Difference struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Size is the fleet's size, Desired the size that Muster would have set.
	Size    int `json:"size"`
	Desired int `json:"desired"`
	// Position is that of the first decision of the time, Why its sentence.
	Position muster.Position `json:"position"`
	Why      string          `json:"why"`
}

// unwatched is the longest time that a decision counts without a next one. Decisions are recorded every minute, so
// after two the controller was not running.
const unwatched = 2 * learning.NotedEvery

// contrasting builds a Contrast from records one by one. last is the present time of constant sizes; at is when the
// newest decision was made.
type contrasting struct {
	Contrast
	last *Difference
	at   time.Time
}

// Against compares the decisions made in shadow mode among the records of one fleet, which come oldest first. It is
// false if there are none.
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

// add adds a decision: it extends the present time of constant sizes, or starts a new one.
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

// until counts the last decision until the given time, or not at all if the controller did not run in between.
func (c *contrasting) until(at time.Time) {
	if c.last == nil {
		return
	}
	held := max(0, at.Sub(c.at))
	if held > unwatched {
		held = 0
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

// note keeps the last time if its sizes differed.
func (c *contrasting) note() {
	if c.last.Size == c.last.Desired {
		return
	}
	if c.Differences = append(c.Differences, *c.last); len(c.Differences) > MaxDifferences {
		c.Differences, c.Earlier = c.Differences[1:], c.Earlier+1
	}
}
