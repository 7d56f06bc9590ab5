// Package lifecycle decides which fleets of a running configuration start, change and stop next.
//
// [Machine] is a pure state machine. It knows for each fleet the configuration that is wanted, the one in force and the
// phase between them. [Machine.Step] takes one event with its time: a configuration was read, an order was carried out,
// a fleet failed, time passed. It returns the next machine, the orders to carry out and what a person should be told.
//
// The caller carries orders out side by side, at any speed, and tells the result of each with [Done]. Whatever the
// caller reads meanwhile, every fleet ends in the last configuration that was wanted:
//
//	            Start carried out              not wanted, or wanted with a change that needs a new start
//	Starting -----------------------> Running -----------------------------------------------------------> Stopping
//	   ^  |                            |  ^                                                                  |
//	   |  | Start failed     it failed |  | Change carried out                                               |
//	   |  v                            |  |                                                                  |
//	  Failed <-------------------------+  +-- (a Change goes on beside a running fleet)                      |
//	   |  |                                                                                                  |
//	   |  +-- not wanted, or wanted with a change that needs a new start ------------------------------->    |
//	   |                                                                                                     |
//	   +-- Start again, after a growing delay            gone, or Waiting and Starting once it is wanted <---+
//
// One order at a time is under way for a fleet, and the orders of one fleet never wait for those of another, except
// that a start waits for the end of a fleet with which it would share a group.
//
// The package reads no clock and does no I/O. It does not know what a fleet consists of: that is C.
package lifecycle
