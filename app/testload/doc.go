// Package testload sends test messages to a queue at a given rate, as muster send does. Their bodies say how long the
// work takes, or come from the lines of a file. Package sim/trace makes the load of simulated runs.
package testload
