// Package testload sends messages to a queue at a stated rate, as muster send does: test load whose bodies say how long
// the work takes, or the lines of a file. Load for simulated runs is made by package sim/trace.
package testload
