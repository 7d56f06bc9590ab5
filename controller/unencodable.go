package controller

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/muster-scale/muster"
)

// unencodable is the body of a record whose own body could not be encoded.
type unencodable struct {
	Why string `json:"unencodable"`
}

const unencodableStart = `{"unencodable":`

// Unencodable tells whether a record says no more than that its body could not be encoded, and why it could not. What
// it should have said is unknown: for a decision that is a hold, and never a size.
func Unencodable(r muster.Record) (why string, is bool) {
	var body unencodable
	if !bytes.HasPrefix(r.Body, []byte(unencodableStart)) || json.Unmarshal(r.Body, &body) != nil {
		return "", false
	}
	return body.Why, true
}

// encode returns the body of a record. Every body is made of finite numbers, strings and times; should one not be, a
// record that says so beats a lost one.
func encode(body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err == nil {
		return text, nil
	}
	said, failure := json.Marshal(unencodable{err.Error()})
	if failure != nil {
		return nil, failure
	}
	return said, err
}

// unrecordable takes back a decision that cannot be recorded, because what is not recorded is not done. In its place
// comes the decision on what is left when everything that was seen is unknown, which is a hold.
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
