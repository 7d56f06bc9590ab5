// Package policies is how a configuration states a policy: the keys of a [policy.Spec], and where its faults stand in
// the text.
//
// [Decode] reads a policy, which is a name or a mapping with parameters, and [Keys] declares these parameters for the
// schema and the reference. [ShapeKeys] declares how fast a size may change. [Check] adds the faults of a decoded
// policy, each at its place, and [KnownName] the fault of an unknown name, with a suggestion.
//
// Package policy knows what a policy may contain; this package knows only how it is written. It does not know fleets:
// package config checks what depends on the rest of a fleet, such as a policy that needs a queue. The keys of Metrics
// are those of CloudFormation, so that a list can be pasted unchanged.
package policies
