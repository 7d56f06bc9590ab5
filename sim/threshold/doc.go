// Package threshold holds results of simulated runs against limits that are given as text, for tests of policies in CI:
// [Parse] reads them, [Missed] judges results. Limits that are part of a world are in package sim/worlds.
package threshold
