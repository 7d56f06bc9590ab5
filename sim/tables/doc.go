// Package tables prints traces and simulated runs as text: what a trace is like ([Statistics]), what one run came to
// ([Run]), and what several policies came to ([Rows], or [Page] as Markdown). Pictures of runs are drawn by package
// sim/report.
package tables
