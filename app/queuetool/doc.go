// Package queuetool implements muster queue. [List] lists queues; [Queues] peeks at, exports and imports messages;
// [Redrive] moves dead letters back; the Print functions print the results.
//
// There are two ways to queues, because SQS cannot look at messages without receiving them:
//
//	Where.Client  any SQS endpoint                            ls, create, purge, redrive
//	Open, With    embedded queues, by the API of muster up    peek, export, import, redrive
//	              or, when none runs, in the data directory
//
// While the data directory is open here, no muster up can start on it; so a command opens it for one operation and
// closes it at once ([With], [WithRedrive]). The rules of queues are in package queue. Package server answers peeks
// both ways, so their results are alike.
//
// Use the package to inspect and repair queues. Programs that send and receive messages use an SQS client.
package queuetool
