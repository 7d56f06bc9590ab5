package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// Decided is the body of a [muster.Decided] record. Its Shared part is the policy's [policy.Spec].
type Decided struct {
	Observation muster.Observation `json:"observation"`
	Decision    muster.Decision    `json:"decision"`
}

// Intended is the body of a [muster.Intended] record. One of them is set.
type Intended struct {
	SetDesired *SetDesired `json:"set_desired,omitzero"`
	End        *End        `json:"end,omitzero"`
	Protect    *Protect    `json:"protect,omitzero"`
	Trim       *Trim       `json:"trim,omitzero"`
}

// ResultedBody is the body of a [muster.Resulted] record.
type ResultedBody struct {
	Effect  string `json:"effect"`
	Failure string `json:"failure,omitzero"`
}

// Changed is the body of a [muster.Changed] record: a change of one member.
type Changed struct {
	Member string        `json:"member"`
	What   roster.Change `json:"what"`
	// As is the new name of the member from this record on; empty if it keeps its name.
	As string `json:"as,omitzero"`
	// Why explains it in words.
	Why string `json:"why,omitzero"`
	// Wasted is true for a launch that failed.
	Wasted bool `json:"wasted,omitzero"`
	// Desired is the desired size afterwards: it falls with a worker that stopped by itself.
	Desired int `json:"desired"`
	// Worker and Incident are set for a problem of a worker. Its count is the total since the worker started.
	Worker   string             `json:"worker,omitzero"`
	Incident *protocol.Incident `json:"incident,omitzero"`
}

// unencodable is the body of a record whose own body could not be encoded.
type unencodable struct {
	Why string `json:"unencodable"`
}

// unencodableStart is how such a body begins. It spares parsing every other record.
const unencodableStart = `{"unencodable":`

// Unencodable tells whether a record only says that its body could not be encoded, and why. Its content is unknown: a
// decision then counts as a hold, never as a size.
func Unencodable(r muster.Record) (why string, is bool) {
	var body unencodable
	if !bytes.HasPrefix(r.Body, []byte(unencodableStart)) || json.Unmarshal(r.Body, &body) != nil {
		return "", false
	}
	return body.Why, true
}

// unrecordable replaces a decision that cannot be recorded, because what is not recorded must not be done. The
// replacement is the decision for an observation in which everything is unknown, which is a hold.
func (w *write) unrecordable(why error) {
	seen := &w.out.Observation
	reason := fmt.Sprintf("what was seen cannot be recorded: %v", why)
	lost := muster.Unknown(seen.At, reason)
	left := muster.Observation{
		Fleet:     seen.Fleet,
		At:        seen.At,
		Poll:      seen.Poll,
		Objective: seen.Objective,
		Limits:    seen.Limits,
		Overrides: seen.Overrides,
		Capacity: muster.Capacity{
			Reason:         reason,
			Desired:        seen.Capacity.Desired,
			SlotsPerWorker: seen.Capacity.SlotsPerWorker,
		},
	}
	for _, q := range w.settings.Queues {
		left.Queues = append(
			left.Queues,
			muster.QueueObservation{Queue: q, Backlog: lost, InFlight: lost, Delayed: lost, OldestAge: lost},
		)
	}
	w.out.Observation, w.out.Decision = left, w.settings.policy.Decide(left, w.state.recent)
}

// Restores tells whether a restart at now needs the record, given that it is within [Settings.RestoreFrom]. Of old
// records only the learned ones count.
func (s Settings) Restores(r muster.Record, now time.Time) bool {
	return r.Kind == muster.Learned || !r.At.Before(now.Add(-s.reach()))
}

// reach is the age up to which records of every kind count.
func (s *Settings) reach() time.Duration {
	return max(s.learning().Reach(), s.memory+holdEvery)
}

// RestoreFrom returns the age up to which [Settings.Restore] may need records. Those up to RestoreFirst are enough,
// unless Lacks says of the state made from them that they were too few, because work is rare.
func (s Settings) RestoreFrom() time.Duration { return max(s.reach(), s.learning().LearnedReach()) }

// RestoreFirst: see [Settings.RestoreFrom].
func (s Settings) RestoreFirst() time.Duration {
	if s.Spec.Seasonal() {
		return s.RestoreFrom()
	}
	return s.reach()
}

// Lacks tells whether st, restored from the records since then, could change with older ones.
func (s Settings) Lacks(st *State, since time.Time) bool { return st.learned.Lacks(since) }
