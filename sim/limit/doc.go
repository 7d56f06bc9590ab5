// Package limit computes what no policy can beat on a trace: lower bounds of the worker-seconds that any schedule pays which
// keeps the latency objective, each with a proof and a certificate that is checked without a solver.
package limit
