// Package mustertest holds one conformance suite for each port of package muster, so that every implementation of a
// port is held to the same contract. It also has stand-ins for the services around a program on AWS.
//
// A suite takes a function that opens a fresh implementation and calls t.Run for each rule of the contract; the name
// of the subtest is the rule:
//
//	func TestConformance(t *testing.T) {
//		mustertest.HistoryConformance(t, func(t *testing.T) muster.History { return open(t, t.TempDir()) })
//	}
//
// The suites:
//
//   - [SourceConformance] for a [muster.Source]: counts are true or unknown, reading receives no message;
//   - [FleetConformance] for a [muster.Fleet] that starts the members which an order names;
//   - [ServiceConformance] for a [muster.Fleet] whose service names and replaces its members;
//   - [HistoryConformance] and [HistoryDurability] for a [muster.History];
//   - [TreeStoreConformance] for a [tree.Store].
//
// Optional abilities, such as [muster.Releaser], are tested where the implementation has them and skipped otherwise.
//
// The stand-ins are each an http.Handler that speaks the real protocol: [IMDS] for the instance metadata of EC2,
// [ECSAgent] for the container agent of Amazon ECS, [Metrics] for GetMetricData of CloudWatch, [ReportTable] for a
// table of DynamoDB. Serve one with httptest.NewServer, or without a network with [InProcess]. They answer what a
// test tells them. For AWS that behaves, with groups that boot instances and alarms that fire, use package
// mustertest/fakeaws.
//
// The package is for tests alone: it imports testing, and its suites fail the test instead of returning errors. A new
// rule of a port belongs here first, then every implementation meets it.
package mustertest
