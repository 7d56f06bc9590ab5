// Package demo plays two published tests of queue scaling on this machine, twenty times as fast, with real queues and
// worker processes: what muster demo shows. [Play] plays them and returns the [Tally], [Print] prints what came of
// them.
//
// Package validate measures the simulator with it. Nothing else should: to run fleets of your own use package app.
package demo
