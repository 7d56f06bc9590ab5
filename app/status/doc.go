// Package status prints the state of the fleets of a running Muster ([Print]), as muster status does: a table with a
// row for each fleet, then for each fleet the sentence of its last decision and what needs attention.
//
// It computes nothing and makes no call: it prints the answer of the API, [server.Status]. An unknown value is printed
// as a question mark, never as zero. A share prints as 100 % only when it is exactly that.
//
// Packages explain and doctor use its lines about a fleet ([PrintProgress], [Troubles], [Classes], [Crowds],
// [Lifeline]), so that the same trouble is described in the same words everywhere.
package status
