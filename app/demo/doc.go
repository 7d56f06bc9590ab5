// Package demo runs two published tests of queue scaling on this machine, twenty times as fast, with real queues and
// worker processes, as muster demo does. [Play] runs them and returns a [Tally]; [Print] prints the results.
//
// Package validate measures the simulator with it. To run fleets of your own, use package app.
package demo
