// Package simulations has the commands about simulated runs: trace, simulate, compare, worlds, and import, which can
// compare an imported configuration with the one before it.
//
// Each command is made by a function named after it, such as [NewSimulate]. They share the flags that describe a run:
// runFlags holds the trace, the objective, the fleet and the world, and makes an event of package sim/contest from
// them. A flag always wins over the fleet of a configuration, and that over the scenario; run_flags.go says how.
//
// The commands check every flag before the first run, because a long trace takes minutes. The runs themselves are in
// package sim and the packages below it, and sim/tables, sim/report and sim/comparison print the results. Exit code 4
// means that a limit of --threshold is missed.
package simulations
