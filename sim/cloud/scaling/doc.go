// Package scaling models target tracking: [GroupPolicies] for EC2 Auto Scaling groups, and [ApplicationScaling] for
// services of Amazon ECS.
//
// A policy is a target and a metric. It makes a pair of alarms in package monitoring; an alarm that fires asks the
// arithmetic of package awsrules/tracking for a new size and sets it:
//
//	metric -> high alarm -> trackOut / serviceOut -> tracking.Out -> Resize / SetCount
//	       `-> low alarm -> trackIn  / serviceIn  -> tracking.In  ---^
//
// Out needs one policy; in needs every policy that may scale in to agree, and none that wants out. The two APIs
// differ in what delays them: a group does not scale in while instances warm up, a service has cooldowns and does not
// scale in during a deployment.
//
// What is scaled is known by two small interfaces alone, [Groups] and [Service], so the package imports neither
// groups nor containers. What AWS does not publish is a setting of [Tracking]. Step, simple, scheduled and predictive
// policies are not modelled.
//
// To compare target tracking with other policies on a trace use policy/peer, which decides by the same
// awsrules/tracking.
package scaling
