// Package start says how many workers begin on messages when nothing tells how long they take: [Workers]. A fleet is in
// that position once, when it starts without a stated duration and without a past.
//
// All functions are pure. What happens once messages are in progress, or have ended, is the matter of package planning.
package start

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Workers returns how many workers begin on the messages that wait, if nothing tells how long they take. It is 1, the
// worker that measures, unless a second launch after that measurement would come too late. Then
//
//	workers = ceil(sqrt(A c / (15 b)))
//
// where A are the messages that only a launch now is in time for, of those that wait or, if these are more, of those
// that come next; c is the price of a late message in worker-seconds; b is the boot time in seconds. Where b is longer
// than the objective, A are all messages that wait, or those that come within b.
//
// If the messages that wait pay for all workers that max allows even with c = b, all begin: under too much work for
// max, a later launch never makes up for what an earlier one would have done.
//
// The expression under the root is the answer to a newsvendor's problem. Work that takes anything from 5 ms to 4 h
// makes the needed number of workers equally likely in each digit over a range of e^15, hence the 15. The worker after
// the n-th is then the decisive one with the probability 1/(15 n). It saves A messages and costs one boot, so it pays
// up to n = A c / (15 b). The root halves the digits of that number: too many workers are paid for at once, too few are
// corrected one boot later.
func Workers(o muster.Observation) int {
	const digits = 15
	backlog, boot, latency := o.Backlog().Value, durations.Boot(o.Boot), o.Objective.Latency.Seconds()
	pays := func(stake float64) int {
		return rules.Ceil(math.Sqrt(stake * o.Objective.PriceOfLate(boot, 0) / (digits * boot)))
	}
	n := pays(backlog)
	switch {
	case boot > latency:
		n = max(n, pays(o.Arrivals.Minute*boot))
	case math.Sqrt(backlog/digits) <= float64(o.Limits.Max-1):
		n = pays(inTimeNow(o, boot, latency))
	}
	return max(1, min(n, rules.Ceil(backlog/math.Max(1, o.Capacity.SlotsPerWorker))))
}

// Said says that so many workers measure the duration.
func Said(workers int) string {
	if workers == 1 {
		return "one worker finds out"
	}
	return fmt.Sprintf("%d workers find out", workers)
}

// inTimeNow returns how many messages a launch now is in time for and a second launch is not. It counts those that
// wait, or if these are more, those that come within the next again - latency seconds, a boot at most. Both are not
// added: after a burst, the rate is that of the messages that wait.
func inTimeNow(o muster.Observation, boot, latency float64) float64 {
	again, waiting := secondLaunchReady(o, boot), 0.0
	for _, g := range o.ByAge() {
		if left := latency - g.AgeSeconds; boot < left && left < again {
			waiting += g.Messages
		}
	}
	return math.Max(waiting, o.Arrivals.Minute*math.Min(boot, math.Max(0, again-latency)))
}

// secondLaunchReady returns in how many seconds the workers of a second launch take messages, if the first worker needs
// no time to measure the duration. Four polls add to the boots: one until the first worker is seen in service, one
// until it receives, one until its finished message is seen, one until the second workers receive.
func secondLaunchReady(o muster.Observation, boot float64) float64 {
	first := boot
	if o.Capacity.InService() > 0 {
		first = 0 // it measures already
	}
	for _, g := range o.Coming {
		first = math.Min(first, math.Max(0, boot-g.AgeSeconds))
	}
	return first + boot + 4*cmp.Or(o.Poll, time.Second).Seconds()
}
