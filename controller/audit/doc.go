// Package audit tells afterwards what a fleet's recorded decisions say: why one has its number and what would change it
// ([Explain], [ExplainDecision]), whether they come out the same when they are made again ([Verify]), and what a fleet
// in shadow would have been asked for beside what it had ([Against]).
//
// It reads records of package controller and asks package policy again; because a policy is a function, that is all it
// takes. Nothing here is needed to size a fleet.
package audit
