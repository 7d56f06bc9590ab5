// Package cloud models what AWS does with the size of a fleet: EC2 Auto Scaling groups, Amazon ECS, the counts of SQS
// queues, CloudWatch metrics and alarms, and the target tracking of both autoscalers. It is pure: no goroutine, clock,
// I/O or chance of its own. One [World] is an account in a region; [World.Advance] lets time pass, and one method for
// each API action, on [World.AutoScaling] and its neighbours, does what the action does and answers with the members
// that the API answers with.
//
// The same settings, calls and instants give the same world, byte for byte. Every size is bounded, see MaxGroups and
// its neighbours; what goes beyond a bound is refused with a fault. docs/simulation.md says what is modelled and what
// is not.
//
// Inputs and outputs bear the names of the API's actions and members, so that who knows the API knows this package;
// package mustertest/fakeaws serves them over the real wire protocols. Pointers are members that may be absent.
//
// A World is not safe for concurrent use.
package cloud
