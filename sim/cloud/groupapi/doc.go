// Package groupapi has the members of the API of EC2 Auto Scaling: the inputs and answers of its actions, the states
// of instances, and whatever follows from an input alone. What the actions do is in package groups.
//
// Names are those of the API, so that a reader who knows the API knows these types. Pointers are members that may be
// absent, because absent and zero differ: an absent MinSize keeps the bound, 0 sets it. Times are zero when absent.
// Lists and texts are absent when empty.
//
//	types.go     groups, instances, activities, launches
//	parts.go     lifecycle hooks, warm pools, instance refreshes, custom termination policies
//	settings.go  defaults, and how stated settings replace those of a group, a hook or a warm pool
//	checks.go    what is wrong with an input, whatever group it is for
//
// The split from package groups is by state: a function here never needs the instances of a group, nor time or
// chance. The errors of checks are faults of package account, in the words of the API.
//
// Only a part of the members does anything in the model; [ShownSettings] are kept and shown. A member that the model
// does not know at all has no field here: package mustertest/fakeaws lists those that a client sends.
package groupapi
