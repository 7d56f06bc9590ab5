// Package arena plays policies on events, some runs at a time and each once.
//
// An [Arena] makes runs ([Arena.Run], [Arena.Figures]), compares them with the lower bounds ([Limits]) and finds the
// best settings of other autoscalers ([Arena.Race], [Arena.Tune]). A [Store] keeps what took long to find from one time
// to the next. What a figure has to be is the matter of the parts that ask for it.
package arena
