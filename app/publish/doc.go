// Package publish publishes the metrics of fleets once, for cron, and sees to scaling policies that AWS follows
// ([Once]). It sets no size. A running Muster publishes by itself: see package fleet/delegate.
package publish
