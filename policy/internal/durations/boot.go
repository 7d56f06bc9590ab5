package durations

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// CautiousBoot is the boot time assumed before the first measured one: a usual time of a cloud instance.
const CautiousBoot = 2 * time.Minute

// Boot returns the boot time in seconds that 95 % of the workers keep, or [CautiousBoot] while none is known.
func Boot(e muster.Estimate) float64 {
	if !e.Known || e.MeanSeconds <= 0 {
		return CautiousBoot.Seconds()
	}
	return math.Max(e.MeanSeconds, e.P95Seconds)
}

// BootWithMargin returns [Boot], but for n measured boots at least
//
//	mean (1 + 0.1 sqrt(4 / (1 + n)))
//
// because the longest of a few boots says little about the next one. A boot time from the configuration (Prior) gets no
// margin: the user chose it.
func BootWithMargin(e muster.Estimate) float64 {
	boot := Boot(e)
	if e.Known && !e.Prior {
		boot = math.Max(boot, e.MeanSeconds*(1+bootVariation*math.Sqrt(4/(1+float64(e.Count)))))
	}
	return boot
}

// bootVariation is the assumed deviation of boot times over their mean, while too few were measured to show it.
const bootVariation = 0.1

// BootSoFar returns the estimate of the boot time of o. Until a boot was measured, it is corrected by the launches that
// are under way: a worker that boots for longer than expected is taken to need the time that it is overdue once more,
//
//	boot = age + (age - boot expected before)
//
// for the age of the oldest launch from cold. Otherwise a fleet whose workers take ten minutes, and whose configuration
// does not say so, would plan for ten minutes with workers that are ready in a second.
func BootSoFar(o muster.Observation) muster.Estimate {
	e := o.Boot
	if e.Known && !e.Prior {
		return e
	}
	age := 0.0
	for _, g := range o.Coming {
		if g.Members > g.Warm {
			age = math.Max(age, g.AgeSeconds)
		}
	}
	if overdue := age - Boot(e); overdue > 0 {
		e.MeanSeconds = age + overdue
		e.Known, e.Prior = true, true
		e.P50Seconds, e.P95Seconds, e.P99Seconds = e.MeanSeconds, e.MeanSeconds, e.MeanSeconds
	}
	return e
}
