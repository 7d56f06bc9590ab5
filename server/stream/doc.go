// Package stream sends what changes to many readers over Server-Sent Events, and lets each resume where it was.
//
// A [Log] is a bounded list of the latest events. Every reader follows it at its own pace:
//
//	events := stream.New("b1946ac9")
//	events.Publish("change", body)                // never blocks, whatever the readers do
//	events.Serve(w, r, stream.View{Whole: board}) // GET /v1/stream, until the reader or the log ends
//
// A reader first gets the whole state and then the events after it. The id of each event is a cursor. A browser that
// reconnects sends the last one as Last-Event-ID, and gets only what it missed:
//
//	event: board          the whole state, to a new reader or one that was away for too long
//	id: b1946ac9.17
//	data: {...}
//
//	event: change         what changed since
//	id: b1946ac9.18
//	data: {...}
//
// A reader that cannot hold a connection open asks for the events since a cursor instead ([Log.Since]).
//
// The package keeps these invariants:
//
//   - Memory depends on the log's bounds alone ([MaxEvents], [MaxBytes]) and not on the number or speed of readers:
//     there is no queue for each reader. One that is so slow that the log forgot its next event is told so with the
//     event "lost" and disconnected, and so is one that accepts nothing for [Patience].
//   - A reader that applies the whole state and then every event has the present state. A cursor of another log, such
//     as one of before a restart, never counts as a position in this one.
//   - At most [MaxReaders] readers are served at once.
//
// It knows nothing of what events say. Package board writes them.
package stream
