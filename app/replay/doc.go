// Package replay answers "what if": it replays the work that a fleet's history recorded in the simulator, under the
// present configuration and under another one. muster replay and the dashboard use it.
//
//	found, err := replay.Make(ctx, history, c, replay.Request{
//		Fleet: "thumbs", From: now.Add(-24 * time.Hour), To: now, Set: []string{"max=20"},
//	})
//	err = replay.Print(os.Stdout, found)
//
// The main types:
//
//   - [Request] names a fleet, a window and a change: a policy, or values of keys.
//   - [Found] has one [Run] for the present configuration, one for the changed one, one for each other autoscaler that
//     was asked for, and the lower bound of the cost. It also has the changed part of the configuration to copy.
//   - [Routes] serves the same as POST /v1/whatif.
//
// The steps:
//
//	history -> recorded.Window -> trace --+-> contest.Prepared.Run -> Run, with curves
//	configuration -> Changed -> fleet ----+
//
// The package keeps these invariants:
//
//   - The present configuration is replayed, too, and both runs have the same messages, seed and world. So what differs
//     between them comes from the change, and not from what the simulator does not know.
//   - A change goes through the text of the configuration and its own parser. So whatever is accepted here is accepted
//     by muster check, and the text to copy is what was run.
//   - A replay is bounded: at most [MaxMessages] messages, [MaxOthers] other autoscalers, and the context's time. One
//     that has more messages replays the newest part of its window and says so.
//   - Nothing is changed, neither the file nor the running fleet.
//
// Package sim/trace/recorded documents how the trace comes from the history, and what it lacks. Its notes are in
// [Found]. Package app/advise finds changes worth making by itself.
package replay
