// Package demo runs two published tests of queue scaling on this machine, twenty times as fast, with real queues and
// worker processes, as muster demo does.
//
// [Play] runs both tests under three policies at the same time: six fleets on six queues. Its parts are [Config], the
// configuration; [Tally], which measures; [View], which shows the runs meanwhile; and [Print], which prints the results
// with the published figures and the lower bound. [Failure] says whether the demo kept its promises: each message is
// processed exactly once, and in time under the policies of Muster.
//
// The measurements come from two places. The controllers' steps tell when members were launched, joined and ended. The
// program of the workers ([Sleep]) logs when work on each message began and ended, because no controller sees that.
//
// Package validate measures the simulator with it. To run fleets of your own, use package app.
package demo
