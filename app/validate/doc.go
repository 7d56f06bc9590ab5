// Package validate measures the simulator. It runs real queues and worker processes, simulates each run with the
// conditions that were measured in it, and compares both. [Demo] does so for the runs of package demo, [CompareSteady]
// for short messages at an even rate. Use it before a release and after a change of the simulator. To judge a policy,
// use package sim/contest.
package validate
