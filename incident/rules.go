package incident

import (
	"slices"
	"time"
)

// Rule says when incidents of one kind open and end.
type Rule struct {
	Kind Kind
	// What describes the kind, for the documentation and for help texts.
	What string
	// After is how long the condition must stand before the incident opens. Away is how long it must be away before the
	// incident ends.
	After, Away time.Duration
}

// Rules returns the table of all kinds. Its times follow from how the condition is measured: a condition that already
// covers minutes, or happens once, opens at once; one that a single failed poll can cause must stand.
func Rules() []Rule {
	return []Rule{
		{ActionFailed, "an action on a fleet failed or was refused, such as setting its size, and none succeeded since",
			30 * time.Second, 5 * time.Minute},
		{SignalUnknown, "the backlog of a queue, or the members of a fleet, cannot be read", time.Minute,
			3 * time.Minute},
		{AtMaximum, "a fleet is at its maximum, and messages are late or will be", 2 * time.Minute, 5 * time.Minute},
		{LaunchesLimited, "the launches of an hour or the budget are used up, and messages are late or will be",
			2 * time.Minute, 5 * time.Minute},
		{AllFailing, "attempts fail, and no message was finished in five minutes", time.Minute, 2 * time.Minute},
		{CrashLoop, "three launches or more in a row ended before they were of use", 30 * time.Second, 5 * time.Minute},
		{DeadLetters, "a dead-letter queue grows", 0, 15 * time.Minute},
		{Contested, "another controller sizes the fleet too", 0, 10 * time.Minute},
		{EndpointAway, "nothing listens at the endpoint that does the work", 0, 3 * time.Minute},
		{WorkerTrouble, "a worker reports a lost lease, or a failed protection, delete, report or lifecycle hook", 0,
			15 * time.Minute},
		{FleetStopped, "a fleet is not sized, or not as configured", 30 * time.Second, time.Minute},
		{HistoryStuck, "decisions cannot be recorded, so nothing is done", 30 * time.Second, time.Minute},
		{HistoryDamaged, "the history was damaged and was replaced by a new one", 0, time.Minute},
		{QueueDamaged, "messages of an embedded queue are damaged, or the queue cannot be written or created", 0,
			time.Minute},
		{ConfigurationInvalid, "a changed configuration was not applied", time.Minute, 10 * time.Second},
		{ConnectionsRefused, "the servers cannot accept connections", 30 * time.Second, time.Minute},
		{EventsUnreachable, "a queue of events cannot be received, so fleets are only polled at their intervals",
			5 * time.Minute, time.Minute},
	}
}

// Kinds returns the names of all kinds, in the order of [Rules].
func Kinds() []string {
	var all []string
	for _, r := range Rules() {
		all = append(all, string(r.Kind))
	}
	return all
}

// ruleOf returns the rule of a kind. A kind that a newer version stored has no rule here: it ends after a minute.
func ruleOf(rules []Rule, k Kind) Rule {
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.Kind == k }); i >= 0 {
		return rules[i]
	}
	return Rule{Kind: k, Away: time.Minute}
}
