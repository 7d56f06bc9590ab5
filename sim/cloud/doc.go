// Package cloud models what AWS does with the size of a fleet: EC2 Auto Scaling groups, Amazon ECS, the counts of SQS
// queues, CloudWatch metrics and alarms, and the target tracking of both autoscalers. It is pure: no goroutine, clock
// or I/O, and chance comes from a seed alone. One [World] is an account in a region with its services; its Advance
// lets time pass.
//
//	w := cloud.New(cloud.Settings{Start: start, Seed: 1})
//	w.AutoScaling().CreateAutoScalingGroup(group)
//	w.AutoScaling().SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "g", DesiredCapacity: &n})
//	w.Advance(start.Add(5 * time.Minute)) // the instances boot and come into service
//
// This package only joins the services. Each service has a package with one method for each API action; the method
// does what the action does and answers with the members that the API answers with. Services know each other
// through small interfaces and functions; scaling alone imports another service, whose alarms it makes:
//
//	groups (groupapi, termination) <--- containers     instances of groups carry tasks
//	   ^                                    ^
//	   |                                    |
//	scaling (awsrules/tracking) ------------'          policies size groups and services
//	   |
//	   v
//	monitoring (awsrules/alarm, metricmath) <--- queues, groups, containers publish metrics
//
// Package account has what all services share: time, chance, names, faults and rate limits.
//
// The same settings, calls and instants give the same world, byte for byte. Every size is bounded, by
// groups.MaxGroups and similar constants; what goes beyond a bound is refused with a fault. docs/aws-model.md says
// what is modelled and what is not.
//
// Inputs and outputs bear the names of the API's actions and members, so that a reader who knows the API knows these
// packages. Pointers are members that may be absent. To reach a world through the real SDKs use package
// mustertest/fakeaws. To compare policies on traces use package sim, not this one.
//
// A World is not safe for concurrent use.
package cloud
