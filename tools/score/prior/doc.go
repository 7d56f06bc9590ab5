// Package prior judges the policy on bursts of which nothing says how long a message takes. [Part] plays each burst
// with many durations, and its loss is set beside the least of any policy that is told nothing.
package prior
