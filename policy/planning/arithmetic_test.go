package planning

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/congestion"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/lateness"
	"github.com/muster-scale/muster/policy/internal/quiet"
	"github.com/muster-scale/muster/policy/internal/room"
	"github.com/muster-scale/muster/policy/internal/rules"
	"github.com/muster-scale/muster/policy/internal/saturation"
	"github.com/muster-scale/muster/policy/internal/start"
)

// arithmetic is the page with its lines joined.
func arithmetic(t *testing.T) (page, joined string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "arithmetic.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), strings.Join(strings.Fields(string(text)), " ")
}

// three is a number as the page writes it: with three digits at the most.
func three(v float64) string {
	digits := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	if math.Abs(v) >= 100 {
		digits = 1
	}
	return render.Number(math.Round(v*digits) / digits)
}

// planned is a plan for work of equal durations that was measured, with one slot a worker and a poll each second.
func planned(seconds float64, latency, boot time.Duration) (muster.Observation, plan) {
	o := muster.Observation{
		Objective:  muster.Objective{Latency: latency, Quantile: 0.99},
		Poll:       time.Second,
		Limits:     muster.Limits{Max: 1000, LaunchesPerHour: 1000},
		Processing: lasting(seconds, 1000),
		Boot:       stated(boot.Seconds()),
		Capacity:   muster.Capacity{Known: true, SlotsPerWorker: 1},
	}
	w, _ := durations.Of(o)
	return o, newPlan(o, w, 1)
}

// TestArithmeticThatThePageWorksOut recomputes every number that docs/arithmetic.md gives as an example.
func TestArithmeticThatThePageWorksOut(t *testing.T) {
	page, joined := arithmetic(t)
	const elsewhere = 6 // those of policy/arithmetic_test.go and policy/outlook
	worked := append([]string{workedByExact(), workedByJump()}, workedByDeadline()...)
	worked = append(append(worked, workedWhenLate()...), workedAtMax())
	worked = append(append(worked, workedByFinished()...), workedByFullWorkers(), workedByOldCounts(),
		workedByAttempts(), workedByDraining())
	worked = append(append(worked, workedByFewest()...), workedByTails(), workedByWorthwhile(), workedByKeepingUp(),
		workedByGrowth(), workedByTrees(), workedByMostLaunches(), workedByCongestion())
	for _, w := range worked {
		if !strings.Contains(joined, "*Worked*: "+w) {
			t.Errorf("docs/arithmetic.md does not say what the code computes:\n%s", w)
		}
	}
	if n := strings.Count(page, "- *Worked*: "); n != len(worked)+elsewhere {
		t.Errorf("docs/arithmetic.md has %d worked examples, and %d are recomputed", n, len(worked)+elsewhere)
	}
}

func workedAtMax() string {
	p := plan{Work: durations.Work{LongTermMean: 50}, slots: 10, boot: 330, price: 330}
	done := p.slots * p.boot / p.LongTermMean
	return fmt.Sprintf("workers of ten slots boot for 330 s and finish a message in 50 s, so %.0f in that time. With "+
		"a price of 330 s they are worth %.2f hours of quiet, and stay for %.2f hours.", done,
		(p.boot+p.price*done)/3600, quiet.WorthAtMax(p.boot, p.price, p.LongTermMean/p.slots)/3600)
}

func workedByKeepingUp() string {
	o := patient()
	return fmt.Sprintf("60 messages of ten minutes came in the past hour, 20 of them in the last 20 minutes, and a "+
		"boot takes a second. (20 - sqrt(20)) x 600 / 1200 = %s workers are surely busy. The objective is a day; %v "+
		"messages wait for %d workers, and %d are wanted now.", three(arrivals.SteadyLoad(o.Arrivals, 600)),
		o.Backlog().Value, o.Capacity.Active(), Deadline{}.Decide(o, nil).Desired)
}

func workedByTrees() string {
	const boot, mean, price = 44, 0.1, 10
	c := quiet.ColdStarts{}
	o := muster.Observation{At: time.Unix(1e9, 0), Objective: muster.Objective{Latency: 21 * time.Second}}
	empty, start, ready := o, o, o
	start.Waiting = []muster.Waiting{{Messages: 1}}
	ready.Capacity.Busy, ready.At = 1, o.At.Add(boot*time.Second)
	for range 5 { // the worker is ready after the boot and stops two seconds later
		empty.At = ready.At.Add(2 * time.Second)
		start.At = start.At.Add(140 * time.Second)
		ready.At = start.At.Add(boot * time.Second)
		c = c.Next(empty, boot, mean).Next(start, boot, mean).Next(ready, boot, mean)
	}
	waits := "no worker waits"
	if !c.Cheap(price) {
		waits = "a worker waits"
	}
	return fmt.Sprintf("every 140 s comes a tree of 13 messages of 100 ms. Boots take %d s, the objective is 21 s, "+
		"and a late message costs %d worker-seconds. Only the root is late, so it costs %s, and the fleet is "+
		"empty for %s s between two trees: %s for the next root.",
		boot, price, three(price*c.AtMost(13)), three(c.Empty), waits)
}

func workedByGrowth() string {
	o := growing()
	p, most := planOf(o), o.Limits.Max
	n := ((o.Backlog().Value-p.begun(p.boot))*p.LongTermMean + p.load*p.boot) /
		(p.farLatency - p.LongTermMean - p.boot - p.oldest())
	wanted := Deadline{}.Decide(o, nil).Desired
	o.Limits.Max = 10
	return fmt.Sprintf("messages of a second, boots of 190 s, an objective of seven minutes, and %d workers are "+
		"permitted. %v messages wait for up to a minute for %d worker, and after %v a second in the last five minutes "+
		"%v came in the last one. With a load of %v it takes %s workers, so %d are wanted. If 10 were permitted, it "+
		"would be %d.", most, o.Backlog().Value, o.Capacity.Active(), o.Arrivals.FiveMinutes, o.Arrivals.Minute, p.load,
		three(n+p.load), wanted, Deadline{}.Decide(o, nil).Desired)
}

func workedByFinished() []string {
	rate := func(seconds float64) muster.Arrivals { return muster.Arrivals{Known: true, Hour: 1 / seconds} }
	rare := plan{lag: 19, price: 4.8}
	below := "below"
	if !rare.mayTakeCounts(rate(240)) {
		below = "not below"
	}
	dear := plan{lag: 19, price: 300}
	does := "if a count shows a message"
	if dear.mayTakeCounts(rate(240)) {
		does = "later"
	}
	return []string{
		fmt.Sprintf("counts are %v s old, a late message costs %v worker-seconds, and one comes every four minutes: "+
			"19 / 240 is %s 1. A second after its message a worker is ready to stop; it waited for 19 s before.",
			rare.lag, rare.price, below),
		fmt.Sprintf("with a price of %v worker-seconds it is 300 / 240, so a worker is launched at once %s.",
			dear.price, does),
	}
}

func workedByOldCounts() string {
	o := seenLate(75)
	p := planOf(o)
	d := Deadline{}.Decide(o, nil)
	o.FinishedSince = 0
	return fmt.Sprintf("counts that may be %v s old show %v messages, eight for each of the last 13 seconds; 75 were "+
		"finished since, and one is in progress: R = %s. With an objective of %v s, messages of 0.1 s and boots of "+
		"1 s, %d workers are wanted. Without R it would be %d.", p.lag, o.Backlog().Value, three(p.received),
		o.Objective.Latency.Seconds(), d.Desired, Deadline{}.Decide(o, nil).Desired)
}

func workedByDraining() string {
	of := func(slots float64, workers int) string {
		switch n := (Deadline{}).Decide(shared(slots, workers), nil).Desired; n {
		case 0:
			return "none is kept, and the one that is there takes no more"
		case 1:
			return "one stays"
		default:
			return fmt.Sprint(n, " stay")
		}
	}
	return fmt.Sprintf("workers of 36 slots take 17 minutes for a message, and 13.6 slots are busy. With an "+
		"objective of seven hours, %s. Of 1.5 workers' work, %s.", of(13.6, 1), of(54, 2))
}

func workedByAttempts() string {
	of := func(seconds float64) string {
		return three(durations.Attempts(muster.Observation{Processing: lasting(10, 90),
			Progress: &muster.Progress{Failed: 30, Finished: 90, Failing: lasting(seconds, 30)}}))
	}
	return fmt.Sprintf("30 attempts failed and 90 messages finished, all in 10 s: a = %s. Failing attempts that "+
		"time out after 20 s make it %s.", of(10), of(20))
}

func workedByFullWorkers() string {
	o := muster.Observation{
		Capacity: muster.Capacity{Known: true, Busy: 16, BusySlots: 8, Slots: 16, SlotsPerWorker: 1},
		Pace:     muster.Pace{LatelyPerSecond: 158, LatelySlots: 15.8},
		Arrivals: muster.Arrivals{Known: true, FiveMinutes: 40},
		Queues: []muster.QueueObservation{{LateSeconds: 40, Backlog: muster.Measured(time.Time{}, 100),
			InFlight: muster.Measured(time.Time{}, 16)}},
		FinishedSince: 3000,
	}
	p := o.Pace
	return fmt.Sprintf("16 workers finish %v messages of 0.1 s a second, and %v a second came: %v - %v is above %.0f. "+
		"Counts 40 s old show %v waiting and %v in flight, and %v were finished since: %v is above %.0f. %v slots are "+
		"%.0f %% of 16, so %d workers are wanted.", p.LatelyPerSecond, o.Arrivals.FiveMinutes, 8*p.LatelyPerSecond,
		8*o.Arrivals.FiveMinutes, 3*math.Sqrt(8*p.LatelyPerSecond), o.Backlog().Value, o.InFlight().Value,
		o.FinishedSince, o.FinishedSince-o.Backlog().Value-o.InFlight().Value-40*1.25*o.Arrivals.FiveMinutes,
		3*math.Sqrt(o.FinishedSince), p.LatelySlots, 100*p.LatelySlots/16, saturation.Workers(o, 0.1, 2))
}

func workedByFewest() []string {
	launched := func(latency time.Duration, quantile, age, messages float64) (need string, n int) {
		o := straggling(age, messages)
		o.Objective.Latency, o.Objective.Quantile = latency, quantile
		return three(planOf(o).needAfter(0).workers), Deadline{}.Decide(o, nil).Desired - o.Capacity.Active()
	}
	need, of95 := launched(30*time.Minute, 0.95, 1218, 30)
	_, of99 := launched(30*time.Minute, 0.99, 1218, 30)
	some, few := launched(9*time.Minute, 0.99, 100, 20)
	more, most := launched(9*time.Minute, 0.99, 100, 100)
	return []string{
		fmt.Sprintf("messages take 60 s, one in twenty 300 s and more, one in a hundred 600 s. A worker of ten slots "+
			"is there, boots take 120 s, the objective is 30 minutes, and 30 messages have waited for 1218 s: %s "+
			"workers are needed. But each begins so soon that between 1 %% and 5 %% of the work would be late: with q "+
			"= 0.95 %d are launched, with q = 0.99 %d.", need, of95, of99),
		fmt.Sprintf("with an objective of nine minutes no launch is in time for all. 20 messages that have waited for "+
			"100 s need %s workers, and %d are launched; 100 need %s, and %d are launched.", some, few, more, most),
	}
}

func workedByTails() string {
	tail := func(quantile float64) string {
		w, _ := durations.Of(muster.Observation{Objective: muster.Objective{Quantile: quantile},
			Processing: muster.Estimate{Known: true, Count: 1000, MeanSeconds: 15, P50Seconds: 10, P95Seconds: 40,
				P99Seconds: 60}})
		return three(w.Tail)
	}
	return fmt.Sprintf("one message in twenty takes 40 s and more, one in a hundred 60 s: with q = 0.95 and 0.99 d is "+
		"%s s, with q = 0.999 %s s.", tail(0.99), tail(0.999))
}

func workedByMostLaunches() string {
	o, _ := planned(60, 5*time.Minute, 0)
	o.Processing.P50Seconds, o.Processing.P95Seconds, o.Processing.P99Seconds = 50, 100, 150
	o.Boot = muster.Estimate{Known: true, Count: 1000, MeanSeconds: 120, P95Seconds: 170}
	w, _ := durations.Of(o)
	p := newPlan(o, w, 1)
	return fmt.Sprintf("one message in twenty takes %v s and more, one in a hundred %v s; boots take %v s on average, "+
		"b = %v s. With P = %v s and polls of a second, d = %v s makes S = %v s, and u = %.4f. So d is %v s.",
		o.Processing.P95Seconds, o.Processing.P99Seconds, p.bootMean, p.boot, p.latency, w.Tail, p.slack(),
		p.tooLateShare, p.Tail)
}

func workedByCongestion() string {
	t := congestion.TrendOf(longer(0.05))
	return fmt.Sprintf("work takes a twentieth longer for each message that waits for a worker, a minute when none "+
		"waits. With boots of two minutes and one slot %s may wait for a worker, with ten slots %s.",
		three(t.WaitingEach(60, 120, 1)), three(t.WaitingEach(60, 120, 10)))
}

func workedByWorthwhile() string {
	p := plan{price: 60, bootMean: 20, step: 2, tooLateShare: 0.5}
	rarely := p.worthwhile(9.2, 27)
	p.tooLateShare = 1
	return fmt.Sprintf("27 messages need 9.2 workers. With a price of 60 s, boots of 20 s and polls of a second, %s "+
		"workers count with u = 0.5, and %s with u = 1.", three(rarely), three(p.worthwhile(9.2, 27)))
}

func workedByExact() string {
	o, _ := planned(1, time.Minute, time.Minute)
	o.Queues = []muster.QueueObservation{
		{Backlog: muster.Measured(o.At, 100), InFlight: muster.Measured(o.At, 16)},
	}
	o.Capacity = muster.Capacity{Known: true, Desired: 7, Idle: 1, Busy: 4, Booting: 2, Slots: 20, BusySlots: 16,
		SlotsPerWorker: 4}
	return fmt.Sprintf("`exact` with 5 workers of 4 slots, 16 messages in flight, 2 workers booting and a backlog of "+
		"100 adds ceil((100 - 8 - 4) / 4) = %d workers.", Exact{}.Decide(o, nil).Desired-o.Capacity.Desired)
}

func workedByJump() string {
	pace := muster.Pace{Finished: 6000, Seconds: 1200}
	without, _ := durations.Of(muster.Observation{Processing: lasting(0.2, 6000), Pace: pace})
	pace.LatelyFinished, pace.LatelySeconds, pace.LatelyLong = 30, 60, 30
	with, _ := durations.Of(muster.Observation{Processing: lasting(0.2, 6000), Pace: pace})
	return fmt.Sprintf("6000 messages of 0.2 s ended within two minutes, and 30 of 2 s within the last seconds: m = "+
		"%s s, and without the rule %s s.", three(with.Mean), three(without.Mean))
}

func workedByDeadline() []string {
	changed, _ := durations.Of(muster.Observation{Processing: lasting(10, 1000),
		Pace: muster.Pace{Finished: 12, Seconds: 240}})
	_, usual := planned(10, 300*time.Second, 90*time.Second)
	_, short := planned(10, 30*time.Second, 90*time.Second)
	varied := plan{Work: durations.Work{Mean: 10, Variation: 1}}
	chance := plan{Work: durations.Work{Mean: 10, Tail: 25, Deviation: 10}}
	three60 := lasting(60, 3)
	// launch tells what is needed for 64 messages of such an age, now and later, and what is launched.
	launch := func(age float64) (p plan, now, later need, launched int) {
		o, _ := planned(10, 300*time.Second, 90*time.Second)
		o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, 64), InFlight: muster.Measured(o.At, 0),
			OldestAge: muster.Measured(o.At, age)}}
		o.Waiting = []muster.Waiting{{AgeSeconds: age, Messages: 64}}
		w, _ := durations.Of(o)
		p = newPlan(o, w, 1)
		return p, p.needAfter(0), p.needAfter(p.step), Deadline{}.Decide(o, nil).Desired
	}
	boots := ordered()
	each, apart := boots.startsAfterBoot(190, 0)
	idle := func(poll time.Duration) string {
		o, _ := planned(10, 300*time.Second, 100*time.Second)
		o.Poll = poll
		return three(planOf(o).idleStop(o).Seconds())
	}
	p, now, later, launched := launch(100)
	_, early, soon, none := launch(98)
	latest := p.lastMoment(p.waiting[0])
	steady := "nothing is launched yet"
	if none != 0 {
		steady = "some are launched"
	}
	if rules.Ceil(early.workers) != rules.Ceil(soon.workers) {
		steady = "the numbers differ"
	}
	rates := muster.Arrivals{Known: true, Minute: 0.15, FiveMinutes: 0.15, TwentyMinutes: 0.15, Hour: 0.15,
		WatchedSeconds: 3600}
	load := arrivals.Bound(rates, usual.FinishedMean, true) * usual.FinishedMean
	stay := usual.keptBusy(rates, muster.Capacity{BusySlots: 1})
	return []string{
		fmt.Sprintf("1000 durations of 10 s, then 12 of 20 s: m = (8 x 10 + 240) / 20 = %s s.", three(changed.Mean)),
		fmt.Sprintf("with an objective of 300 s and a poll each second, P = %s s; with one of 30 s, P = %s s.",
			three(usual.latency), three(short.latency)),
		fmt.Sprintf("three boots of 60 s count as %s s; a stated boot of 60 s counts as %s s.",
			three(durations.BootWithMargin(three60)), three(durations.BootWithMargin(stated(60)))),
		fmt.Sprintf("60 s are expected, and the first worker has been booting for 200 s: b = %s s.",
			three(durations.Boot(durations.BootSoFar(muster.Observation{Boot: stated(60),
				Coming: []muster.Coming{{AgeSeconds: 200, Members: 1}}})))),
		fmt.Sprintf("with durations of 10 s that vary by as much (v = 1), a free slot begins %s messages within 45 s, "+
			"with equal ones %s.", three(varied.starts(45, 1)), three(varied.starts(45, 0))),
		fmt.Sprintf("with m = 10 s, d = 25 s and σ = 10 s, 16 messages ahead count as %s more.",
			three(chance.varianceExtra(16))),
		fmt.Sprintf("boots take %s s, b = %s s, and 70 messages of 10 s must begin within 190 s of the launch. Alone "+
			"each worker begins %s, so %s are needed. Together they begin %s each with a deviation of %s, and %s are "+
			"needed.", three(boots.bootMean), three(boots.boot), three(boots.starts(190-boots.boot, 0)),
			three(boots.launchesToBegin(70, 190)), three(each), three(apart), three(boots.launchesTogether(70, 190))),
		fmt.Sprintf("with polls a minute apart and boots of 100 s a worker says so after %s s.", idle(time.Minute)),
		fmt.Sprintf("64 messages have waited for 100 s, no worker is there, and work of 10 s was measured. With P = "+
			"%s s, t = %s s. A worker that boots in 90 s begins %s of them, so 64 / %[3]s = %s, and %d are needed. "+
			"With h = %s s a later one begins %s, so 64 / %[7]s = %s, and %d are needed: %d are launched now.",
			three(p.latency), three(latest), three(p.starts(latest-p.boot, 0)), three(now.workers),
			rules.Ceil(now.workers), three(p.step), three(p.starts(latest-p.step-p.boot, 0)), three(later.workers),
			rules.Ceil(later.workers), launched),
		fmt.Sprintf("when the same messages have waited for 98 s, %d are needed either way, and %s.",
			rules.Ceil(early.workers), steady),
		fmt.Sprintf("for an hour 0.15 messages a second of 10 s each keep %s workers busy. With S = %s s and b = %s s "+
			"the second one is needed again after %[2]s / %[4]s = %s s, so %d stays.", three(load),
			three(usual.slack()), three(usual.boot), three(load-1), three(usual.slack()/(load-1)), stay),
	}
}

// waited returns what is known after quiet times of so many seconds, one after the other, with a message between them.
func waited(worth float64, gaps ...float64) (q quiet.Times) {
	arrived := 1e9
	for _, gap := range gaps {
		q = q.Next(arrived, quiet.From(worth), worth)
		arrived += gap
		q = q.Next(arrived, 0, worth)
	}
	return q
}

func workedWhenLate() []string {
	o, p := planned(2, 10*time.Second, 60*time.Second)
	minute := muster.Arrivals{Busiest: []muster.Busiest{{OverSeconds: 5}, {OverSeconds: 60, Messages: 300}}}
	spare := p.latency - p.LongTermMean
	random := room.Work{Mean: 2, Variation: 1, Boot: 30, TooLate: 1, Quantile: 0.99}
	all := func(b muster.Busiest) float64 { return b.Messages }
	seldom, spread := random, random
	seldom.TooLate, spread.TooLate = 0.1, 0
	within := spread.Busiest(minute.Busiest, 0, spare, all)
	beside := random.Busiest(minute.Busiest, 0, spare, all)
	missed := func(latency float64) string {
		p := plan{Work: durations.Work{Mean: 60, LongTermMean: 60}, latency: latency, step: 2, boot: 39, bootMean: 30}
		return three(p.launchesTooLate(muster.Observation{Processing: muster.Estimate{P50Seconds: 60, P95Seconds: 60,
			P99Seconds: 60}}))
	}
	catch := plan{Work: durations.Work{Mean: 2}, latency: 60, slots: 1, boot: 60, bootMean: 60,
		price: 60}
	_, rare := planned(10, 7*time.Minute, 13*time.Minute)
	few := muster.Arrivals{Busiest: []muster.Busiest{{OverSeconds: rare.boot + rare.LongTermMean - rare.latency,
		Messages: 8}}}
	vain, gaps := 0, []float64(nil)
	for ; waited(100, gaps...).Pay(); vain++ {
		gaps = append(gaps, 1000)
	}
	half := "go"
	if waited(100, 20, 1000, 20, 1000, 20, 1000, 20, 1000).Pay() {
		half = "stay"
	}
	late := func(inTime float64) string {
		r := lateness.Extra{}.Next(muster.Observation{At: o.At, Objective: muster.Objective{Quantile: 0.99},
			Progress: &muster.Progress{Ended: 4000, InTime: muster.Measured(o.At, inTime)}}, 60)
		return three(r.Workers)
	}
	o.Objective.Latency = time.Minute
	o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, 2000)}}
	o.Boot = stated(120)
	crowded := durations.Growth{Known: true, Base: 4, Useful: 2}
	return []string{
		fmt.Sprintf("300 messages of 2 s came within the busiest minute, and each may wait x = %s s: 300 x 2 / %s = "+
			"%s slots begin them in time. They come at random, so with u = 1 %s are kept.",
			three(spare), three(60+spare), three(within), three(beside)),
		fmt.Sprintf("4 busy slots with work of 2 s that varies by as much, x = 8 s, boots of 30 s and a quantile of "+
			"0.99 keep %s slots with u = 1, and %s with u = 0.1 (Kingman's formula).",
			three(random.Steady(4, 8)), three(seldom.Steady(4, 8))),
		fmt.Sprintf("equal work of 60 s, boots of 30 s on average and b = 39 s, polls of a second. With P = 98 s, "+
			"u = %s: the longest boots are too long. With P = 90 s, u = %s.", missed(98), missed(90)),
		fmt.Sprintf("boots of 4 s and messages of 2 s make a late message cost %s worker-seconds; messages of 20 ms, "+
			"%s.", three(o.Objective.PriceOfLate(4, 2)), three(o.Objective.PriceOfLate(4, 0.02))),
		fmt.Sprintf("workers boot for 780 s, the objective is 420 s, messages of 10 s cost %s worker-seconds each "+
			"when late, and at a typical busy time %s came within a boot less what they can wait. One worker is worth "+
			"%s s of quiet, nearly two hours.", three(rare.price), three(arrivals.Within(few.Busiest,
			rare.boot+rare.LongTermMean-rare.latency)), render.Number(math.Round(rare.headroomWorth(few, 1)))),
		fmt.Sprintf("workers are worth 100 s, and messages come again after 1000 s each time: after %d quiet times "+
			"idle workers no longer stay. Where half of them come after 20 s, they %s.", vain, half),
		fmt.Sprintf("within an hour 4000 messages ended, 3 %% of them late where 1 %% may be, and a late one costs 60 "+
			"worker-seconds: %s workers. With all of them late it is %s.", late(0.97), late(0)),
		fmt.Sprintf("600 messages of 2 s, 2 more a second, boots of 60 s and a price of 60 s: T = %s s. With 300 "+
			"messages it is the least, %s s.", three(catch.catchUp(600, 2)), three(catch.catchUp(300, 2))),
		workedByRacers(),
		fmt.Sprintf("2000 messages wait, boots take 120 s and the objective is 60 s: ceil(sqrt(2000 x 120 / 1800)) = "+
			"%d workers.", start.Workers(o)),
		fmt.Sprintf("with 4 s alone and E = 2, a message takes %s s with 10 in progress.",
			three(crowded.Base*crowded.Slowdown(10))),
	}
}

// workedByRacers is the example of workers that are launched to be ready sooner.
func workedByRacers() string {
	o := withoutWorkers()
	o.Capacity.SlotsPerWorker = 9
	p := planOf(o)
	n := p.race(o)
	return fmt.Sprintf("100 messages of 50 ms come each second and cost %s worker-seconds each when late. One worker "+
		"takes %s a second. Boots take 120 s, and how far they vary was not measured. %d workers are launched.",
		three(p.price), three(p.slots/p.Mean), n)
}

// TestArithmeticNamesWhatThereIs holds that the page's names are those of the code, and that no symbol stands for two
// things.
func TestArithmeticNamesWhatThereIs(t *testing.T) {
	page, _ := arithmetic(t)
	there := declared(t)
	row := regexp.MustCompile("(?m)^\\| ([^|]+) \\| [^|]+ \\| `([^`]+)` \\|[^|]*\\|[^|]*\\|$")
	symbols := map[string]bool{}
	for _, r := range row.FindAllStringSubmatch(page, -1) {
		if symbols[r[1]] {
			t.Errorf("docs/arithmetic.md names the symbol %s twice", r[1])
		}
		symbols[r[1]] = true
	}
	if len(symbols) < 20 {
		t.Fatalf("found the symbols %v: the test looks in the wrong place", symbols)
	}
	for _, name := range regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z]+)`").FindAllStringSubmatch(page, -1) {
		if name[1] != "objective.late" && !there[name[1]] {
			t.Errorf("docs/arithmetic.md names %s, and the code has no such field or function", name[1])
		}
	}
}

// declared lists functions, and the fields and methods of types, of the policies and of the vocabulary, as in
// "plan.boot" and "durations.Of".
func declared(t *testing.T) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	for _, pattern := range []string{"*.go", "../*.go", "../outlook/*.go", "../internal/*/*.go", "../../*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.FuncDecl:
					there[file.Name.Name+"."+x.Name.Name] = true
					if x.Recv != nil {
						of := x.Recv.List[0].Type
						if star, ok := of.(*ast.StarExpr); ok {
							of = star.X
						}
						there[fmt.Sprint(of)+"."+x.Name.Name] = true
					}
				case *ast.TypeSpec:
					if s, ok := x.Type.(*ast.StructType); ok {
						for _, f := range s.Fields.List {
							for _, name := range f.Names {
								there[x.Name.Name+"."+name.Name] = true
							}
						}
					}
				}
				return true
			})
		}
	}
	return there
}
