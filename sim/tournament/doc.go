// Package tournament plays policies in many simulated worlds, as the command muster worlds does, judges the first
// policy against the others, and prints the results.
//
//	found, err := tournament.PlayDrawn(ctx, options, []uint64{1, 2, 3}, contenders)
//	err = found.Print(os.Stdout)       // or json.Marshal(found.Report())
//	err = found.Verdict(thresholds)
//
// Worlds are drawn at random ([PlayDrawn] returns a [Drawn]) or have a name ([PlayNamed] returns [Named] worlds); both
// kinds come from package sim/worlds. A run that takes longer than [Options.Timeout] is not answered: it counts against
// its policy and is listed as [Missing]. [Summary] judges the first policy, and [Drawn.Verdict] and [NamedVerdict] turn
// violated invariants, missing answers and missed thresholds into the error of the command.
//
// Results do not depend on how many runs are made at a time, except for the answers that come too late. To compare
// policies on traces of your own, use package sim/comparison.
package tournament
