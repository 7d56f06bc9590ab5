// Package httpreport sends a worker's reports to a controller over HTTP, and returns its directives.
//
// [HTTPReporter] is a worker.Reporter for POST /v1/reports of package server. The token goes with every report, so
// plain HTTP is allowed only to this machine, and redirections are not followed. A report is given up after 80 seconds;
// the worker goes on working meanwhile, and its next report says the same and more.
//
// For something else: what a report and a directive say is package worker/protocol. Workers that cannot reach the
// controller store their reports by package worker/dynamoreport.
package httpreport
