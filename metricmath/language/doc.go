// Package language reads the expressions of the metric-math language of Amazon CloudWatch and says what is wrong with
// them, such as FILL(backlog, REPEAT) / workers.
//
// [Parse] makes an [Expression], a tree of [Node], or an [Error] with its place. [Scope.Check] finds the [Kind] of
// every node, given what the ids stand for: a number, one series or an array of series. [ParseSearch] reads the text of
// a SEARCH. The functions and how they may be called are in functions.go, as the user guide of CloudWatch lists them.
//
// The package knows no metrics, periods or points: lists of queries and what they give are the matter of package
// metricmath. Everything here is a pure function of its arguments, but for Check, which writes into the tree.
package language
