// Package operate does what muster reserve, pause, resume, limits, hold, release, overrides and guard do: it sends the
// requests of operators to the running muster up, and prints the answers.
//
//	x := operate.Request{Fleet: "thumbs", Kind: override.Reserve, Workers: 40, At: "14:00", For: 30 * time.Minute}
//	answer, err := operate.Add(ctx, c, x, time.Now())
//	operate.PrintAnswer(os.Stdout, "thumbs", answer, false, time.Now())
//
// [Add], [Cancel], [Resume] and [List] are about overrides; [Guard] asks whether a fleet is quiet, and may wait for it.
// All of them need a running muster up, because that owns the history. Errors about the request are marked as package
// internal/misuse does.
//
// The package decides nothing: package override says what is allowed, and package guard what is quiet.
package operate
