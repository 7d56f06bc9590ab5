// Package plan computes what a configuration would set now, without changing anything ([Make]). It prints the decision
// with its arithmetic and with what the objective can expect ([Fleet.Print]). Use it before a configuration is applied;
// package explain is for the one in force.
package plan
