// Package audit answers questions about recorded decisions, after the fact.
//
//   - [Explain] and [ExplainDecision]: why has a decision its number, why is it no larger, and which backlog would
//     change it?
//   - [Recompute] and [Verify]: does a recorded decision come out the same from its record, byte for byte?
//   - [Against]: what would Muster have done with a fleet in shadow mode, compared with the system in charge?
//
// All three rest on one property: a policy is a function of the observation and the recent decisions, and the record
// has both. So a question is answered by calling the policy again, with the same or with a changed observation:
//
//	recorded, again, err := audit.Recompute(record, recent) // equal for the same policy revision
//
// The package reads records of package controller and calls package policy. It knows neither the history that stores
// the records nor the fleet, and nothing here is needed to size one. Use package app/explain for what `muster explain`
// prints, and package sim to replay whole traces.
package audit
