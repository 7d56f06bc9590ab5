// Package publish publishes the metrics of fleets once, for cron, and maintains the scaling policies of AWS that use
// them ([Once]). It sets no size.
//
// The numbers are those of a plan (package app/plan), so they come from the running muster up or, when none runs, from
// one reading. Package app/handover gives them to AWS. A running Muster with delegate publishes by itself: see package
// fleet/delegate.
package publish
