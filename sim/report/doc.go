// Package report draws simulated runs, for people who compare policies: the curves of each run over its time, and what
// every run reached against what it cost. It writes one HTML page that needs no other file, or SVG pictures.
//
//	recorder := report.NewRecorder(objective)
//	result, err := sim.Run(sim.Options{ /* ... */ Stepped: recorder.Stepped})
//	err = report.HTML(file, "Thumbnails", []report.Run{recorder.Run(result)})
//
// The data goes one way:
//
//	sim.View --> Recorder --> Curves --+
//	                                   +--> Run --> HTML, SVG, Attainment
//	                scoring.Result ----+
//
// A [Recorder] watches a run and keeps a bounded summary of it, in which no peak is lost. A [Run] is a result with its
// curves. [HTML] writes the page, [SVG] one run's picture, and [Attainment] the attainment of all runs against their
// cost.
//
// The files: recorder.go and curves.go summarise; axis.go, canvas.go and labels.go draw lines, axes and names;
// picture.go and panels.go draw a run, pareto.go the comparison; page.go, fields.go and markup.go write the page.
//
// Invariants: the same runs give the same bytes on every machine, so pictures can be compared as files; memory and the
// size of a page are bounded, however long a run is; every text from outside is escaped, and the page loads nothing.
// The package decides nothing and runs nothing. For tables in a terminal use package sim/tables.
package report
