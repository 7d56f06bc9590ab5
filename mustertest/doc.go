// Package mustertest holds one conformance suite for each port of package muster, so that every implementation of a
// port is held to the same contract.
//
// A suite takes a function that makes a fresh implementation; it calls t.Run for each rule of the contract, named by
// the rule.
//
// [IMDS] and [ECSAgent] stand in for what a program finds around it on an instance of EC2 and in a task of Amazon ECS:
// both are an http.Handler that speaks the real protocol, on the clock of the test.
package mustertest
