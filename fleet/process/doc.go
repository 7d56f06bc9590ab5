// Package process sizes a fleet of local worker processes.
//
// [Fleet] is a muster.Fleet; [Options] say which program a member runs, where, and with which environment. An order
// names the members that it launches, so an order given twice starts nothing twice.
//
// Each member is one process in a process group of its own. What exists is known from files, one for each member, whose
// lock the process holds as long as it lives: when the controller crashes, its workers go on, and the next controller
// finds them by their locks and adopts them. A process id alone is never trusted.
//
// The fleet starts processes and lists them. It ends only members whose release was granted, or all of them when the
// operator shuts everything down. A released member that has not ended after five seconds is killed with its process
// group: it holds no message.
//
// The files to read: launch.go starts a member, process.go lists and ends them, kind.go has the keys. What the members
// run is usually "muster work", which is told its settings in one variable of its environment: see package app/work.
//
// For something else: instances are package fleet/asg, containers package fleet/ecs. Members of a process fleet share
// the cores of one machine; what that does to durations is measured by package controller/learning.
package process
