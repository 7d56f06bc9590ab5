// Package rules has what the policies share: the decision that each begins with ([Begin]), the hold for an unknown
// signal ([Unknown]), rounding ([Ceil], [Round3]), the numbers that a decision keeps for the next one ([Kept]), the
// named values of a term ([Value]), and the clauses that the sentences of several policies have in common
// ([NothingWaits], [Retries], [Failing]).
//
//	d := rules.Begin(o, "example/1")
//	if !backlog.Known {
//		return rules.Unknown(d, muster.UnknownBacklog, "example", "backlog", backlog)
//	}
//	return d.With(muster.Term{Rule: "example", Out: rules.Ceil(backlog.Value / 10), Why: rules.NothingWaits(o)})
//
// All functions are pure. Package internal/render formats numbers and durations; the functions here need the
// vocabulary of package muster.
package rules
