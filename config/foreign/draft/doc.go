// Package draft collects what another system says about one group, service or workload, as the fleet of a
// configuration.
//
// A [Draft] is a fleet while it is read. A reader, for AWS or for Kubernetes, makes one for each thing that is scaled
// and adds to it:
//
//   - policies ([Draft.Add]), of which a configuration has a bounded number;
//   - queues ([Draft.Use]); dead-letter queues are set apart and dropped by [Draft.SettleQueues];
//   - reasons why a fall waits ([Draft.Falling]), of which the longest counts;
//   - notes for what cannot be carried over ([Draft.Note]), and remarks for what was chosen ([Draft.Remark]).
//
// [Draft.Done] completes the draft, and the [Fleet] in it is what is written. The bounds of a configuration are kept
// here, so that a reader may add whatever it finds.
//
// The package does not know which system a fleet comes from, nor how a configuration is written: that is package
// foreign.
package draft
