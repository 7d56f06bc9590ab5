// Package explain says why a fleet has its size. [Find] finds a recorded decision in the history, [Explained.Present]
// asks the running muster up for the current one, and [Print] prints either. [Verify] recomputes decisions; [Against]
// compares with another system that sizes the fleet. The arithmetic is in package controller.
package explain
