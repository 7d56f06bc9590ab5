// Package trace reads, generates and writes traces. A [Trace] is a list of the messages that arrive at a queue: when
// each is sent, how long its work takes, and which messages it sends when it finishes. The simulator replays traces,
// and package sim/limit computes from them what any policy must pay.
//
//	t, err := trace.Load("poisson:rate=2,duration=1h,service=10s", trace.Options{Seed: 1})
//	err = t.Each(func(m trace.Message) bool { fmt.Println(m.Arrival, m.Service); return true })
//
// [Load] finds a trace by what a person types: a file ([Open]), a generator with its settings ([Generate]), or a
// scenario of the built-in suite ([Scenarios]). Files are CSV, job logs in the Standard Workload Format, or counts of
// messages per interval; [Write] writes CSV. docs/traces.md describes the formats and the generators.
//
// The package keeps these invariants:
//
//   - Arrivals ascend, durations are not negative, and sizes are bounded ([Order] and the constants beside it). A
//     reader checks that before it returns a message, so its users need not.
//   - A trace can be read from its start as often as needed, and gives the same messages each time.
//   - The same generator, settings and seed give the same messages on every platform: package chance draws them without
//     the floating-point functions of the platform.
//   - Everything streams: memory depends on the largest tree, and not on the number of messages.
//   - A problem in a file is a [Fault] with the file and the line.
//
// The package knows neither policies nor fleets. To measure what a trace is like, use package sim/trace/statistics.
package trace
