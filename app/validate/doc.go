// Package validate measures the simulator: it makes runs with real queues and worker processes, simulates each with
// what was measured in it, and compares both. [Demo] does that for the runs of package demo, [CompareSteady] for short
// messages at an even rate. Use it before a release and after a change of the simulator; a policy is judged with
// package sim/contest.
package validate
