// Package advice says from measured figures which keys of a fleet's configuration do not fit its work, and what would
// fit better. It is a pure function: figures in, advice out. It changes nothing.
//
//	c := advice.NewCollector(from, to, 1)
//	err := h.Read(ctx, "thumbnails", from, c.Add)   // the records of the history
//	report := advice.Of(stated, c.Measured())
//	for _, a := range report.Advice { fmt.Println(a.Key, a.Old, "->", a.New, a.Why) }
//	for _, u := range report.Unjudged { fmt.Println(u.Rule, u.Why, u.Needed) }
//
// The main types:
//
//   - [Stated] is what the configuration of a fleet says, [Measured] what its history recorded in a window. A
//     [Collector] makes the latter.
//   - [Advice] is one changed value with the figures that speak for it, the number of samples and a [Confidence].
//     [Unjudged] is a rule that could not be applied, with what would be needed.
//   - [Report] has both. [Effects] decides, from simulated runs before and after, whether an advice is worth giving.
//
// The rules, each in a function of its own:
//
//   - Processor time (members.go): with all slots busy, a member that uses less than [CPULow] of its cores is too large
//     or has too few slots, and one that uses more than [CPUHigh] is too small. Memory bounds the slots. Where the work
//     was not measured, the CPU of whole members counts, if another system measured that.
//   - Durations (durations.go): a stated boot time or mean that is not the measured one, an objective that the work
//     alone exceeds, a visibility timeout or a retention that does not fit.
//   - Sizes (sizes.go): a maximum that late messages met, or far above any need, and a minimum without which the first
//     messages after a quiet time are late.
//
// The package keeps these invariants:
//
//   - Unknown is not zero: without enough samples there is no advice, but an [Unjudged].
//   - No advised size or number of slots is below what the measured peak needed.
//   - Equal figures give equal reports.
//
// Package app/advise reads the history, computes the effects with the simulator and prints. A decision never depends on
// this package. Use package app/explain for why a fleet has its present size.
package advice
