package groups

import (
	"time"

	"github.com/muster-scale/muster/awsrules/spot"
	"github.com/muster-scale/muster/awsrules/warmpool"
)

// This file has the settings of how instances behave in time: AWS publishes none of these numbers, so they are
// settings.

// Machines says how instances behave. A zero field means its default, given in brackets. Durations are in virtual
// time.
type Machines struct {
	// React is the time until a group acts on a difference between its capacity and its desired capacity (1s).
	React time.Duration
	// Boot is the time of a cold launch, from Pending until the instance runs; launch hooks follow it (60s).
	Boot time.Duration
	// WarmBoot is the time from Warmed:Stopped or Warmed:Hibernated until the instance runs (20s), RunningBoot from
	// Warmed:Running (2s).
	WarmBoot, RunningBoot time.Duration
	// Prepare is the time from the end of the boot, or from leaving service, until the pool has the instance (30s).
	Prepare time.Duration
	// Proceed is the time in Pending:Proceed (1s).
	Proceed time.Duration
	// End is the time that a termination takes after its hooks (30s).
	End time.Duration
	// Spread is the relative spread of all these times, from 0 to 1: each is uniform within ±Spread of its value.
	Spread float64
	// BootFails is the share of cold launches that fail at the end of their boot, 0 to 1. The group launches others.
	BootFails float64
	// Retry is the pause after a launch without capacity, or after a custom termination policy that named nothing
	// (30s).
	Retry time.Duration
	// Notice is the time from the announcement of a Spot interruption until the instance ends (2m).
	Notice time.Duration
	// SpotRate is the mean number of interruptions of a Spot instance in an hour.
	SpotRate float64
}

// withDefaults fills zero durations from another setting, then from the documented defaults. Shares and rates have no
// default: zero is a meaning of its own.
func (m Machines) withDefaults(of Machines) Machines {
	set := func(d *time.Duration, parent, otherwise time.Duration) {
		if *d == 0 {
			*d = parent
		}
		if *d == 0 {
			*d = otherwise
		}
	}
	set(&m.React, of.React, time.Second)
	set(&m.Boot, of.Boot, time.Minute)
	set(&m.WarmBoot, of.WarmBoot, warmpool.Start(false))
	set(&m.RunningBoot, of.RunningBoot, warmpool.Start(true))
	set(&m.Prepare, of.Prepare, 30*time.Second)
	set(&m.Proceed, of.Proceed, time.Second)
	set(&m.End, of.End, 30*time.Second)
	set(&m.Retry, of.Retry, 30*time.Second)
	set(&m.Notice, of.Notice, spot.Notice)
	return m
}
