// Package logs shows the logs of local fleets to people: which fleet's log is meant ([FleetOf]), which of its records
// ([Read]), and how they look ([NewPrinter], [Failure], [Attempt]). What writes and keeps logs is package
// internal/joblog.
package logs
