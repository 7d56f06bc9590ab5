// Package tables prints traces and simulated runs as text for a terminal: what a trace is like ([Statistics]), what one
// run came to ([Run]), and what several policies came to ([Rows], or [Page] as Markdown).
//
// It computes nothing but means over traces; package sim/contest sums up runs, and sim/trace/statistics measures
// traces. Numbers are rounded for people: programs read the JSON of scoring.Result. Package sim/report draws pictures.
package tables
