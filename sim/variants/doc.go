// Package variants runs one trace under several variants of a fleet, and compares them: the present configuration, a
// changed one, the rules of other autoscalers, and a lower bound of the cost.
//
//	e := variants.OfFleet(f, t, start)
//	who, err := variants.Contender(f, settings)
//	plan := variants.Plan{Variants: []variants.Variant{{Kind: variants.Present, Event: e, Who: who}}, Span: span}
//	runs, bound, err := plan.Play(ctx)
//
// The main types:
//
//   - [Variant] is one run to make, and [Plan] is all of them.
//   - [Run] is what one came to, with its [Curves]; [Bound] is the lower bound.
//   - [Found] is the whole answer to a question of the kind "what if", as JSON for people and for pages.
//
// Package app/replay asks such questions about recorded work, and app/playground about a file, in a browser. Both have
// the same messages, seed and world in every run. So what differs between two runs comes from the variant.
//
// It reads no file and no clock, and knows no kind of fleet. Its only goroutines are one for each run.
package variants
