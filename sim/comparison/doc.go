// Package comparison plays several policies on several traces, as the command muster compare does:
//
//	results, curves, err := comparison.Comparison{Events: events, Contenders: all, Seeds: seeds}.Play(ctx)
//
// Beside the contenders themselves it can play other autoscalers with their main setting tuned in hindsight, record the
// curves of runs for a report, and play policies of ours a second time with the true durations stated ([Informed]). It
// reports its progress. The results do not depend on how many runs are made at a time.
//
// Package sim/contest plays one event; sim/tables prints results and sim/report draws them.
package comparison
