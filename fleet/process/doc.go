// Package process sizes a fleet of local worker processes.
//
// [Fleet] is a muster.Fleet; [Options] say which program a member runs, where, and with which environment. An order
// names the members that it launches, so an order given twice starts nothing twice.
//
// Each member is one process in a process group of its own, and has a file whose lock the process holds as long as it
// lives. The files say which members exist: when the controller crashes, its workers keep running, and the next
// controller finds them by their locks and adopts them. A process id alone is never trusted, because the system reuses
// ids.
//
//	MEMBER.member   JSON with the process id and the start; locked by the process
//	MEMBER.log      what the process printed, until it is collected
//
// The fleet starts processes and lists them. It ends only members whose release was granted, or all of them when the
// operator shuts everything down. A released member that has not ended after five seconds is killed with its process
// group: it has no message in progress.
//
// The files to read: process.go starts, lists and ends members, member.go has their files and their output, kind.go
// joins the parts of a split. Members usually run "muster work", which gets its settings in one variable of its
// environment: see package app/work.
//
// For something else: instances are package fleet/asg, containers package fleet/ecs. Members of a process fleet share
// the cores of one machine; what that does to durations is measured by package controller/learning.
package process
