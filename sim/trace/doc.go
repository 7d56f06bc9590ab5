// Package trace reads, generates and writes traces: the messages that arrive at a queue, each with the time
// of its work. The simulator replays them; the limit is computed from them.
//
// [Load] finds a trace by what a person types: a file, a generator with its settings, or a scenario of the built-in
// suite. Everything streams: memory does not grow with the number of messages. The same generator, settings and seed
// give the same messages on every platform.
//
// What a trace is like is measured by package statistics; how numbers are drawn is known by package chance.
package trace
