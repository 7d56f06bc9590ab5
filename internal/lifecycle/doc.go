// Package lifecycle decides which fleets of a running configuration start, change and stop next, for
// example after the configuration file was reloaded.
//
// [Machine] is a pure state machine. For each fleet it knows the wanted configuration, the one in force
// and the phase between them. [Machine.Step] takes one event with its time: a configuration was read,
// an order was carried out, a fleet failed, time passed. It returns the next machine, the orders to
// carry out, and notes for the user.
//
// The caller carries out the orders, concurrently and at any speed, and reports the result of each with
// [Done]. Whatever is read meanwhile, every fleet ends in the configuration that was wanted last:
//
//	            Start carried out              not wanted, or wanted with a change that needs a restart
//	Starting -----------------------> Running -----------------------------------------------------------> Stopping
//	   ^  |                            |  ^                                                                  |
//	   |  | Start failed     it failed |  | Change carried out                                               |
//	   |  v                            |  |                                                                  |
//	  Failed <-------------------------+  +-- (a Change runs beside a running fleet)                         |
//	   |  |                                                                                                  |
//	   |  +-- not wanted, or wanted with a change that needs a restart ---------------------------------->   |
//	   |                                                                                                     |
//	   +-- Start again, after a growing delay            gone, or Waiting and Starting once it is wanted <---+
//
// Invariants: a fleet has at most one order at a time. The orders of one fleet never wait for those of
// another, except that a start waits for the end of a fleet with which it would share a group.
//
// The package reads no clock and does no I/O. What a fleet consists of is the type parameter C, of
// which it knows only [Rules]. Package app drives it; how a fleet is sized is decided by package
// controller.
package lifecycle
