// Package draft collects what another system says of one group, service or workload, as the fleet of a configuration.
//
// A [Draft] is a fleet that is being read: readers add policies, queues and reasons to wait, with notes for what cannot
// be carried over and remarks for what was chosen. [Draft.Done] completes it, and what is written is its [Fleet]. The
// bounds of a configuration are held here, so that every reader may add what it finds. Which system it comes from is
// not known here.
package draft
