// Package trace reads, generates, measures and writes traces: the messages that arrive at a queue, each with the time of its
// work. The simulator replays them; the limit is computed from them.
package trace
