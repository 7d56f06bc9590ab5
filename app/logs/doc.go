// Package logs prints the logs of local fleets: [FleetOf] chooses the fleet, [Read] the records, and [NewPrinter],
// [Failure] and [Attempt] format them. Package internal/joblog writes and keeps the logs.
package logs
