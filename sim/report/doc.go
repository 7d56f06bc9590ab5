// Package report draws simulated runs: the curves of each run over its time, and what every run reached against what it
// cost, as one HTML page that needs nothing else or as SVG pictures.
//
// A [Recorder] watches a run and keeps a bounded summary of it that loses no peak; [Recorder.Run] joins it to the
// result. [HTML], [SVG] and [Front] draw. The same runs give the same bytes.
package report
