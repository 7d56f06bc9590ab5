// Package threshold compares results of simulated runs with limits that are given as text, such as in_time_ratio>=0.99,
// so that a policy can be tested in CI. [Parse] and [OfResults] read the texts, [Missed] judges results, and the
// commands exit with code 4 for a [MissedError].
//
// Limits that belong to a world are in package sim/worlds.
package threshold
