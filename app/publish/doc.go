// Package publish publishes the metrics of fleets once, for cron, and maintains the scaling policies of AWS that use
// them ([Once]). It sets no size. A running Muster publishes by itself: see package fleet/delegate.
package publish
