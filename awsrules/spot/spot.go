// Package spot is the published behaviour of Spot capacity: how long the notice of an interruption is, and when
// interruptions come.
//
// AWS takes a Spot instance back when it needs the machine. It gives [Notice], and then ends the instance without
// hooks and without regard to protection. Nobody publishes when an instance is interrupted; only rates are known, such
// as those of the Spot Instance advisor. So an instance of a model is interrupted at a constant rate: [Until] turns a
// random number into the time until that.
//
// The package has no instances, clock or random numbers. Package sim/cloud/groups has instances that Spot takes back
// with all that follows in a group, and package sim has members of any fleet.
//
// Sources: EC2 user guide, "Spot Instance interruption notices" and "EC2 instance rebalance recommendations".
package spot

import (
	"math"
	"time"
)

// Notice is the time from the notice of an interruption until the instance ends. Fargate Spot gives its tasks as much.
const Notice = 2 * time.Minute

// longest bounds what [Until] returns: a time.Duration holds 290 years, and a model of a rate of almost nothing asks
// for more.
const longest = 100_000 * time.Hour

// Until returns the time until an instance is interrupted that is interrupted perHour times an hour in the mean, more
// than 0. exponential is a random number of the exponential distribution with mean 1; see [Exponential].
func Until(perHour, exponential float64) time.Duration {
	return time.Duration(min(exponential/perHour, longest.Hours()) * float64(time.Hour))
}

// Exponential returns the number of the exponential distribution with mean 1 that belongs to a uniform one in [0, 1).
func Exponential(uniform float64) float64 { return -math.Log1p(-uniform) }
