// Package scaling models target tracking: [GroupPolicies] of EC2 Auto Scaling groups, and [ApplicationScaling] of
// services.
//
// A policy is a pair of alarms of package monitoring, and the arithmetic of package awsrules/tracking. What is scaled
// is
// known by two small interfaces alone, [Groups] and [Service].
package scaling
