// Package cloud models what AWS does with the size of a fleet: EC2 Auto Scaling groups, Amazon ECS, the counts of SQS
// queues, CloudWatch metrics and alarms, and the target tracking of both autoscalers. It is pure: no goroutine, clock,
// I/O or chance of its own. One [World] is an account in a region with its services; its Advance lets time pass.
//
// The package joins the services, which know nothing of each other but small interfaces. Each has a package, and in
// that
// one method for each API action, which does what the action does and answers with the members that the API answers
// with: groups (with its inputs and answers in groupapi), scaling, containers, monitoring and queues. Package account
// has what all of them share: time, chance, names, faults, limits of calls.
//
// The same settings, calls and instants give the same world, byte for byte. Every size is bounded, see groups.MaxGroups
// and its like; what goes beyond a bound is refused with a fault. docs/aws-model.md says what is modelled and what is
// not.
//
// Inputs and outputs bear the names of the API's actions and members, so that one who knows the API knows these
// packages; package mustertest/fakeaws serves them over the real wire protocols. Pointers are members that may be
// absent.
//
// A World is not safe for concurrent use.
package cloud
