// Package dynamoreport stores the reports of workers in an Amazon DynamoDB table, where a controller that workers
// cannot reach reads them.
//
// [Table] is a worker.Sink for a worker. The controller reads through a [Reader], which limits the reads of one table
// for all fleets, and a [Follower] for each fleet, which returns only the reports that are new.
//
// The table has the partition key "fleet" and the sort key "worker", both text, and "expires" as its time-to-live
// attribute. Each worker overwrites its one entry with its current report and its counts since it started, so a missed
// entry loses nothing. A write succeeds only if it is newer than the stored entry.
//
// An entry gets no answer. So workers that report in this way cannot get a stop permit: their fleet must state
// reports: none, and they protect their own member while they are busy.
//
// For something else: reports over HTTP, with answers, are package worker/httpreport. The table's key in a
// configuration is reports_from, in package config.
package dynamoreport
