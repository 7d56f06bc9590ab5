// Package mustertest holds one conformance suite for each port of package muster, so that every implementation of a port
// is held to the same contract.
//
// A suite takes a function that makes a fresh implementation; it calls t.Run for each rule of the contract, named by the
// rule.
package mustertest
