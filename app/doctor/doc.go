// Package doctor finds out, by looking alone, what a configuration needs to work: credentials and a region, queues,
// groups and services that exist and may be looked at, who else sizes them, what each source and fleet is able to do.
// It changes nothing.
//
// [Examine] looks at what the configuration names, [Running] at what a running Muster says of itself. Use it before the
// first write, and where something does not work; what a fleet decides and why is told by the decisions themselves.
package doctor
