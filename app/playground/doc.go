// Package playground answers "what if" about a trace: a file that a user has, or a built-in one, replayed under a
// configuration and under a changed one. It is the simulator of package sim without a server: compiled to WebAssembly,
// it runs in a browser (cmd/playground, and docs/playground.md for users).
//
//	answer := playground.Answer(request, content, func(share float64) { ... })
//
// The main types:
//
//   - [Request] names a trace, has the text of a configuration with one fleet, and a change of it.
//   - [Reply] is the answer as JSON: what was [variants.Found], or an error in words.
//   - [Traces] lists the built-in traces, each with a configuration to begin with.
//
// The package keeps these invariants:
//
//   - The same request and content give the same bytes, in a browser and in a native program.
//   - A configuration goes through the parser of every configuration. Only its kinds are fewer: the fleet is one of
//     workers that report, and its queue announces messages. So the result is that of an ideal cloud.
//   - Every size is bounded: [MaxContent], [MaxMessages], [MaxSpan].
//
// It reads no file, no clock and no variable, and needs neither SQLite nor a client of AWS: those would be larger than
// all the rest. Package app/replay asks the same questions about recorded work, and package sim/variants makes the runs
// of both.
package playground
