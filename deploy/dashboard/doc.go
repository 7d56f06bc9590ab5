// Package dashboard writes dashboards for fleets: for Grafana over Prometheus, and for CloudWatch.
//
//	d := dashboard.Grafana(nil)                // all fleets, with a variable to choose
//	d, err := dashboard.CloudWatch(config)  // fleets with a queue on SQS
//
// Both show the four metrics that a fleet is sized by: the visible messages, the workers in service, the mean
// processing duration, and the backlog per worker against the acceptable one. They add what tells whether that works:
// messages in time and late, the oldest age against the objective, the desired count and the cost.
//
// The main types are what the two systems read: [GrafanaDashboard] is the JSON model of Grafana, [CloudWatchDashboard]
// the body of PutDashboard. Both have only the fields that are used.
//
// A dashboard of Grafana takes objectives and limits from the metrics, and its data source from a variable, so one
// dashboard serves every configuration. CloudWatch has no such metrics: its dashboard contains the numbers of the
// configuration.
//
// The package is pure: equal arguments give equal bytes. Package deploy/alerts has the alerts to these figures, and
// docs/monitoring.md explains every metric.
package dashboard
