// Package worlds draws simulated worlds at random from a stated, wide distribution: how long work takes and how far
// that varies, how messages come, how long workers boot, what the objective leaves, what fails, and what is known
// beforehand. A policy that is judged by worlds it has never met cannot be set by them.
//
// [Draw] makes a world from its number alone: the same number gives the same world. [Play] runs contenders on one.
package worlds
