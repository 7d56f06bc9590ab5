package groups

import "time"

// Machines are how instances behave. Zero fields are defaults, which stand in brackets.
type Machines struct {
	// React is how long a group takes to notice that it has too few or too many instances (1s).
	React time.Duration
	// Boot is the time of a cold launch, from Pending until the instance runs (60s); hooks come after it.
	Boot time.Duration
	// WarmBoot is the time out of Warmed:Stopped and Warmed:Hibernated (20s), RunningBoot out of Warmed:Running (2s).
	WarmBoot, RunningBoot time.Duration
	// Prepare is how long an instance takes from its boot, or from service, into the state of the pool (30s).
	Prepare time.Duration
	// Proceed is how long the states that end in Proceed last (1s).
	Proceed time.Duration
	// End is how long a termination takes (30s).
	End time.Duration
	// Spread is the relative spread of all of these, 0 to 1, uniform.
	Spread float64
	// BootFails is the share of cold launches that end while they boot; the group replaces them.
	BootFails float64
	// Retry is how long a group waits after a launch that failed, or a termination policy that gave nothing (30s).
	Retry time.Duration
	// Notice is how long before a Spot interruption is announced (2m).
	Notice time.Duration
	// SpotRate is how often in an hour a Spot instance is interrupted.
	SpotRate float64
}

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
	set(&m.WarmBoot, of.WarmBoot, 20*time.Second)
	set(&m.RunningBoot, of.RunningBoot, 2*time.Second)
	set(&m.Prepare, of.Prepare, 30*time.Second)
	set(&m.Proceed, of.Proceed, time.Second)
	set(&m.End, of.End, 30*time.Second)
	set(&m.Retry, of.Retry, 30*time.Second)
	set(&m.Notice, of.Notice, 2*time.Minute)
	return m
}
