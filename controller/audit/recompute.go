package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
)

// Recompute decides again from the observation of a recorded decision and the recent decisions before it. For the same
// policy revision the result equals the recorded decision, byte for byte.
func Recompute(r muster.Record, recent muster.Recent) (recorded, again muster.Decision, err error) {
	var spec policy.Spec
	var body controller.Decided
	if why, is := controller.Unencodable(r); is {
		return recorded, again, fmt.Errorf("decision %d: it could not be recorded when it was made: %s", r.Position.Seq,
			why)
	}
	if err := json.Unmarshal(r.Shared, &spec); err != nil {
		return recorded, again, fmt.Errorf("decision %d: read its policy: %w", r.Position.Seq, err)
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return recorded, again, fmt.Errorf("decision %d: read its record: %w", r.Position.Seq, err)
	}
	p, err := policy.New(spec)
	if err != nil {
		return recorded, again, fmt.Errorf("decision %d: build its policy: %w", r.Position.Seq, err)
	}
	return body.Decision, p.Decide(body.Observation, recent), nil
}

// Verify recomputes every decision among the records, which are one fleet's history, oldest first. It returns how many
// it checked, and an error with the first decision that differs from its record.
//
// Some decisions cannot be recomputed; skipped counts them. Where older records were removed, the first decisions lack
// the recent ones that their policy read. Decisions of another policy revision may rightly differ. Decisions that could
// not be recorded have no observation.
func Verify(records []muster.Record) (checked, skipped int, err error) {
	var recent muster.Recent
	whole := len(records) > 0 && records[0].Position.Seq <= 1
	var first time.Time // the time of the oldest decision that is left
	for _, r := range records {
		if r.Kind != muster.Decided {
			continue
		}
		if _, is := controller.Unencodable(r); is {
			skipped++
			continue
		}
		var spec policy.Spec
		if first.IsZero() {
			first = r.At
		}
		if err := json.Unmarshal(r.Shared, &spec); err == nil && !whole && r.At.Sub(first) < spec.Memory() {
			recorded, _, err := Recompute(r, recent)
			if err != nil {
				return checked, skipped, err
			}
			recent = recent.With(recorded, verifyMemory)
			skipped++
			continue
		}
		recorded, again, err := Recompute(r, recent)
		if err != nil {
			return checked, skipped, err
		}
		if recorded.Policy != again.Policy {
			recent = recent.With(recorded, verifyMemory)
			skipped++
			continue
		}
		was, err := json.Marshal(recorded)
		if err != nil {
			return checked, skipped, err
		}
		is, err := json.Marshal(again)
		if err != nil {
			return checked, skipped, err
		}
		if !bytes.Equal(was, is) {
			return checked, skipped, fmt.Errorf("decision %d does not recompute to itself:\nrecorded   "+
				"%s\nrecomputed %s", r.Position.Seq, was, is)
		}
		checked++
		recent = recent.With(recorded, verifyMemory)
	}
	return checked, skipped, nil
}

// verifyMemory is longer than any policy reads recent decisions.
const verifyMemory = 25 * time.Hour
