// Package dynamohistory keeps the history of fleets in an Amazon DynamoDB table, where controllers on several machines,
// or functions without a disk, share it.
//
//	h, err := dynamohistory.New(client, "muster-history")
//	at, err := h.Begin(ctx, "thumbnails")
//	at, err = h.Append(ctx, "thumbnails", at, records...)
//
// The main type is [Store]. It follows the same contract as the history in SQLite: one stream for each fleet, and an
// append is conditional on (epoch, sequence). [Create] makes the table.
//
// The table has the text keys stream and element. A fleet is one stream with these elements:
//
//	head                    epoch and sequence number, and the page of the last append
//	page#0000000000000000042 the records from sequence number 42 on that were appended together, compressed
//	part#NONCE#0003          a part of a page that is too large for one element
//
// One more stream, "fleets", lists the names of all fleets.
//
// An append is one conditional write of the head, which carries the new records itself. So an append is all or none,
// without a transaction. Before it, the writer moves the page of the append before into an element of its own. A
// reader reads the head first, so every older page is there already. All reads that decide something are consistent.
//
// Invariants:
//
//   - The head is the only place that says what is part of a stream. A page or part that a writer left behind before
//     its append failed is never read.
//   - A lost answer is no conflict: each append has a nonce, by which a writer recognizes its own write.
//   - An element has at most 320 KiB; DynamoDB allows 400 KB.
//   - [Store.Prune] never removes the newest record of a kind. It works through each stream once in six hours, because
//     every element that is read costs money.
//
// A page also has the attribute expires, [rules.MaxKeep] after its newest record, in seconds since 1970. Switch on the
// table's time to live for this attribute, and an abandoned table empties itself.
//
// The package knows nothing of what a record says, except learned durations and arrivals, which package rules merges.
package dynamohistory
