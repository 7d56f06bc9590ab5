// Package board is the data of the dashboard: every fleet in a row, what changes while they run, and what stands behind
// each number. docs/api.md has its routes.
//
//	live := board.New(board.Options{Fleets: fleets, History: past, ...})
//	go live.Run(ctx)
//	server.New(server.Options{Routes: live.Routes(), ...})
//	...
//	live.See(outcome) // after every step of a fleet
//
// The main types:
//
//   - [Live] watches the running fleets. It publishes changes to one [stream.Log], which all pages follow.
//   - [Row] is a fleet in the list; [RowOf] derives it from a status, and [State] says in a word how the fleet does.
//   - [Board] is the whole list, [Change] what changed in it. A page gets one Board and then Changes, or asks for the
//     same by GET when it cannot hold a stream.
//   - [Detail], [Series], [Decisions] and the other answers are read when a page asks for them.
//
// An outcome's way to a page:
//
//	loop -> Live.See -> decision event ------------------+
//	     -> Last <- Live.Run, every half second -> change event -> stream.Log -> pages
//
// The package keeps these invariants:
//
//   - An unknown number is null ([Number]), never 0 and never left out.
//   - A page that applies a board and then every event shows the present state. A test compares.
//   - While no page watches, nothing is computed: See stores a few words.
//   - Answers are bounded: rows by the configuration, everything else by a limit that the answer says it reached.
//   - No answer has the body of a message; reading bodies is a route of package server, with a permission of its own.
//
// It changes nothing: actions are routes of package server and of the controller's. Curves of the past are kept by
// package history/curves, decisions by package history. The page itself is package server/page.
package board
