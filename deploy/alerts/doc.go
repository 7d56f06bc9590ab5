// Package alerts writes alert rules for fleets: for Prometheus, and alarms for CloudWatch.
//
//	text := alerts.Prometheus(nil)                  // rules for all fleets
//	text := alerts.Prometheus([]string{"images"})   // for one
//	template, err := alerts.CloudWatch(config)      // a CloudFormation template
//
// Both have the same alerts, by the names of [Names]:
//
//   - Two alerts for the latency objective itself. Each compares the share of late messages over two windows with the
//     error budget, which is 1 less the quantile of the objective. The long window shows that the loss matters, and the
//     short one that it still goes on. The factors 14.4 and 6 spend a fiftieth of a budget of 30 days in an hour, and a
//     twentieth in six hours.
//   - Alerts for causes that a person can remove: a source that cannot be read, a fleet at its maximum, work that
//     always fails, dead letters, a controller that is gone.
//
// A budget above a fourteenth would give a limit above 1, which nothing exceeds; so a limit is at most [mostLate].
//
// The rules for Prometheus take objectives and limits from the metrics, so they stay right when the configuration
// changes. CloudWatch has no such metrics: its template contains the numbers of the configuration.
//
// The package is pure: equal arguments give equal bytes. It does not know whether anything scrapes or publishes.
// docs/monitoring.md explains each alert and what to do.
package alerts
