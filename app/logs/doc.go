// Package logs prints the logs of local fleets, as muster logs does. [FleetOf] chooses the fleet, [Read] reads the
// records, and a [Printer] prints them: [NewPrinter] makes the one for people. [Failure] and [Attempt] describe a
// failed attempt on one line; status, peek and the console use them too, so that all of them use the same words.
//
// Text from jobs and messages is escaped before it is printed: it must not be able to control the terminal.
//
// Package internal/joblog writes and keeps the logs. It decides what a record is; this package decides how one looks.
package logs
