package worlds

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// Named is a world in which an autoscaler once failed badly, with the limits that a policy must keep there now.
type Named struct {
	// Name is its name in tables. Found says what went wrong there, for a table.
	Name, Found string
	Event       contest.Event
	// Least is the least share in time. The others are the most that is allowed: worker-seconds over the lower bound,
	// launches in an hour, and members at a time. A limit of 0 judges nothing.
	Least, MostRatio, MostLaunches float64
	MostPeak                       int
}

// event is one with a trace of such a specification, which is empty where drawn gives the trace.
func event(name, spec string, latency, boot time.Duration, most int) contest.Event {
	return contest.Event{
		Name: name, Objective: muster.Objective{Latency: latency, Quantile: 0.99},
		Limits: muster.Limits{Max: most, LaunchesPerHour: contest.LaunchesPerHour},
		World:  world.World{Boot: world.Draw{Mean: boot}, Slots: 1},
		Trace:  func(seed uint64) (trace.Trace, error) { return trace.Generate(spec, seed) },
	}
}

// All returns the named worlds. Nothing is stated beforehand unless the name says so.
func All() []Named {
	const s, m, h = time.Second, time.Minute, time.Hour
	poison := event("failing messages", "poisson:rate=0.5,duration=4h,service=10s,cv=0.5", 5*m, m, 500)
	poison.World.Poison = 0.05
	all := []Named{
		{Name: "50 ms, objective 120 s", Found: "peaks of 94 to 375 workers where 6 do, up to 5 times the lower bound",
			Event: event("", "poisson:rate=100,duration=10m,service=50ms,cv=0.5", 2*m, 30*s, 500), Least: 0.99,
			MostRatio: 1.25, MostPeak: 10},
		{Name: "50 ms, objective 10 s", Found: "7,053 launches in half an hour",
			Event: event("", "poisson:rate=100,duration=30m,service=50ms,cv=0.5", 10*s, 30*s, 500), Least: 0.96,
			MostRatio: 2.5, MostPeak: 40},
		{Name: "20 ms, objective 10 s",
			Found: "85 % in time at 75 times the lower bound, 7,101 launches in ten minutes",
			Event: event("", "poisson:rate=250,duration=10m,service=20ms,cv=0.5", 10*s, 30*s, 500), Least: 0.9,
			MostRatio: 4.5, MostPeak: 40},
		{Name: "tasks of 2 h, objective 2 h 15 min", Found: "1,785 launches for 142 messages",
			Event: event("", "poisson:rate=0.00165,duration=24h,service=2h,cv=0", 2*h+15*m, m, 500), Least: 0.85,
			MostRatio: 1.1, MostLaunches: 10, MostPeak: 40},
		{Name: "tasks of 2 h, objective 10 min", Found: "5,671 launches for 303 messages, peak 122",
			Event: event("", "poisson:rate=0.0035,duration=24h,service=2h,cv=0", 10*m, m, 500), MostRatio: 1.1,
			MostLaunches: 20, MostPeak: 60},
		{Name: "boot of 20 min, objective 5 min", Found: "125 workers after two seconds and 369 after twelve, where " +
			"20 are needed",
			Event: event("", "diurnal:rate=0.9,swing=0.5,period=24h,duration=24h,service=10s,cv=0.5", 5*m, 20*m, 500),
			Least: 0.9, MostRatio: 2, MostPeak: 60},
		{Name: "on 15 min, off 6 h, objective 30 s", Found: "81 % in time at three times the cost of one worker for " +
			"each message",
			Event: event("", "spike:rate=0,size=900,every=6h15m,at=10m,duration=48h,service=10s,cv=0.5", 30*s, m, 500),
			Least: 0.8, MostRatio: 2, MostPeak: 80},
		{Name: "busy 30 min, quiet 70 min, boot 13 min, objective 7 min",
			Found: "68 % in time: all workers had stopped when the next busy time began",
			Event: event("", "", 7*m, 13*m, 500), Least: 0.93, MostRatio: 3.2, MostPeak: 10},
		{Name: "failing messages, 5 %", Found: "1.47 times the lower bound", Event: poison, MostRatio: 1.4,
			MostPeak: 40},
		{Name: "load 24 where 15 may be", Found: "15 % in time where one worker for each message has 26 %",
			Event: event("", "poisson:rate=2.4,duration=1h,service=10s,cv=0.5", 5*m, m, 15), MostPeak: 15},
		{Name: "constant load of 1.5", Found: "two workers kept: 1.23 times the lower bound",
			Event: event("", "steady:rate=0.15,duration=4h,service=10s,cv=0", 5*m, m, 500), Least: 0.99,
			MostRatio: 1.12, MostPeak: 5},
		{Name: "single messages of 15 s, objective 2 min", Found: "98 % in time: the tail of most work was planned " +
			"with for the one that waits",
			Event: event("", "sparse:load=0.1,duration=24h,service=15s,cv=0.5", 2*m, m, 100), Least: 0.99},
		{Name: "twenty busy workers, objective 5 s", Found: "94.9 % in time without room for chance in arrivals",
			Event: event("", "poisson:rate=10,duration=2h,service=2s,cv=0.5", 5*s, m, 500), Least: 0.96,
			MostRatio: 1.5},
		{Name: "50 messages each 20 min, objective 30 s", Found: "1.4 times the loss where workers are kept for all " +
			"of the busiest times or for none",
			Event: event("", "spike:rate=0.3,size=50,every=20m,duration=4h,service=5s,cv=0.5", 30*s, m, 500),
			Least: 0.8, MostRatio: 4, MostPeak: 100},
	}
	all = slices.Concat(all, unlikeBefore(), unlikeTheMean())
	drawn(all)
	for i := range all {
		all[i].Event.Name = all[i].Name
	}
	return all
}

// unlikeBefore returns the named worlds whose work is unlike what was measured or stated before, or so long and rare
// that little was measured.
func unlikeBefore() []Named {
	const s, m, h = time.Second, time.Minute, time.Hour
	doubtful := event("", "poisson:rate=0.0027,service=29m,cv=0.85,duration=100h", 70*m, 144*s, 140)
	doubtful.Objective.Quantile, doubtful.World.Poison, doubtful.World.Stale = 0.95, 0.08, 45*s
	doubtful.World.RetryBase, doubtful.World.MaxReceives, doubtful.World.Visibility = 30*s, 3, 30*s
	old := event("", "steady:rate=8,duration=30m,service=80ms,cv=0.5", 21*s, 300*time.Millisecond, 100)
	old.World.Stale = 16 * s
	retried := event("", "poisson:rate=1.4,duration=2h,service=75s,cv=0.5", 228*s, 7*m, 2000)
	retried.World.Poison, retried.World.RetryBase = 0.1, 10*s
	retried.World.MaxReceives, retried.World.Visibility = 3, 30*s
	return []Named{
		{Name: "50 messages of 50 s at once, told nothing",
			Found: "1.86 times what a schedule pays that knows the mean",
			Event: event("", "burst:size=50,service=50s,cv=0", 5*m, 90*s, 100), MostRatio: 2.2, MostPeak: 50},
		{Name: "a first start with a burst", Found: "92.9 % in time, 99.4 % when told the mean",
			Event: event("", "spike:rate=0.3,size=300,every=40m,at=1s,duration=2h,service=10s,cv=0.5", 5*m, m, 500),
			Least: 0.8, MostRatio: 1.5, MostPeak: 100},
		{Name: "a first message that hangs, then 200 of a second", Found: "one worker, which held the one that hung, " +
			"for three minutes",
			Event: event("", "", 15*s, s, 6), Least: 0.97, MostRatio: 1.2, MostPeak: 4},
		{Name: "a first message of a minute, then 200 of a second", Found: "one worker until the first message had " +
			"ended",
			Event: event("", "", 15*s, s, 6), Least: 0.97, MostRatio: 1.6, MostPeak: 4},
		{Name: "a message of 25 min among 1,200 of a second",
			Found: "79 % in time: the worker that held it was taken to be ready for the next one at any moment",
			Event: event("", "", m, 20*s, 100), Least: 0.99, MostRatio: 1.6, MostPeak: 8},
		{Name: "three messages of 20 min among 17 a second of 50 ms", Found: "333 workers at a time: all that was " +
			"in progress hung, and was taken for longer work",
			Event: event("", "", m, 20*s, 1000), Least: 0.95, MostRatio: 1.3, MostLaunches: 60, MostPeak: 20},
		{Name: "three messages of 10 min among 17 a second of 50 ms, objective 20 s", Found: "144 launches, up to " +
			"135 workers at a time, when they had ended and nothing came any more",
			Event: event("", "", 20*s, 30*s, 1000), Least: 0.95, MostRatio: 3, MostLaunches: 60, MostPeak: 20},
		{Name: "five times the work, three times as much, objective 15 s", Found: "84 % in time: shorter messages " +
			"hid the change for two minutes",
			Event: event("", "", 15*s, 15*s, 1000), Least: 0.92, MostRatio: 2, MostPeak: 500},
		{Name: "20,000 messages of 300 ms at once, objective 2 min", Found: "1 % in time: one worker measured them, " +
			"and the others were launched when it was too late",
			Event: event("", "burst:size=20000,service=300ms,cv=0", 2*m, m, 1000), Least: 0.35, MostPeak: 100},
		{Name: "a message of hours each six days, objective 13 days", Found: "94 % in time: no message was expected " +
			"to take much longer than the few before it, so each waited for all of the objective",
			Event: event("", "poisson:rate=0.000002,service=2.75h,cv=1,duration=3600h", 312*time.Hour, 2*s, 100),
			Least: 0.99, MostRatio: 1.02, MostPeak: 10},
		{Name: "messages of 83 min, six a day, boot 40 min, objective 24 h", Found: "2.8 times the lower bound: by " +
			"the arrivals of one hour, work that takes longer keeps a worker busy for ever",
			Event: event("", "poisson:rate=0.00007,service=83m,cv=1,duration=1500h", 24*h, 40*m, 100), Least: 0.98,
			MostRatio: 1.4, MostPeak: 10},
		{Name: "messages of 29 min, objective 70 min at 95 %, old counts, failing messages", Found: "three workers " +
			"launched for each message, in case others came while they boot: 1,600 launches for 965 messages",
			Event: doubtful, Least: 0.8, MostRatio: 1.33, MostLaunches: 12, MostPeak: 40},
		{Name: "8 messages a second of 80 ms, objective 21 s, counts 16 s old", Found: "20 workers at a time where " +
			"one does: messages that had been received since were taken to be late",
			Event: old, Least: 0.98, MostRatio: 2.5, MostPeak: 6},
		{Name: "a tenth of the messages fails, boot 7 min, objective 228 s", Found: "19 % in time for an hour: " +
			"workers that were busy with failing attempts were taken to be ready for other messages",
			Event: retried, Least: 0.7, MostRatio: 1.8, MostPeak: 400},
	}
}

// unlikeTheMean returns the named worlds in which chance, one burst or the rare message decides, and not the mean.
func unlikeTheMean() []Named {
	const s, m = time.Second, time.Minute
	strict := event("", "spike:rate=0.5,size=100,every=5m,duration=8h,service=1s,cv=2", 30*s, s, 500)
	strict.Objective.Quantile = 0.999
	seldom := event("", "poisson:rate=0.09,duration=12h,service=400ms,cv=0.7", 600*time.Millisecond,
		400*time.Millisecond, 50)
	seldom.Objective.Quantile = 0.95
	bursts := event("", "spike:rate=0.03,size=90,every=33m,duration=12h,service=57s,cv=0.2", 100*s, 145*s, 110)
	bursts.World.Stale, bursts.Poll = 27*s, 10*s
	return []Named{
		{Name: "busy and quiet times, messages of 700 ms, objective 1.3 s", Found: "94 % in time: room for the mean " +
			"load of the busy times, and none for chance within them",
			Event: event("", "mmpp:rate=0.5,to=10,quiet=3m,busy=3m,duration=2h,service=700ms,cv=0.4",
				1300*time.Millisecond, 3*s, 100), Least: 0.95, MostRatio: 4.2, MostPeak: 30},
		{Name: "a message of 400 ms each eleven seconds, objective 600 ms at 95 %", Found: "54 % in time, with 2,852 " +
			"launches: a silence of 18 seconds was taken for the end",
			Event: seldom, Least: 0.8, MostRatio: 24, MostLaunches: 10, MostPeak: 8},
		{Name: "100 messages of a second each five minutes, objective 30 s at 99.9 %", Found: "99.73 % in time: " +
			"planned with what two in a hundred messages exceed",
			Event: strict, Least: 0.998, MostRatio: 1.25, MostPeak: 60},
		{Name: "90 messages of 57 s each 33 min, objective 100 s, counts 27 s old", Found: "110 workers at a time, " +
			"all that were permitted: a burst was taken for a rate that rises",
			Event: bursts, MostRatio: 1.8, MostPeak: 80},
		{Name: "trees of 13, one each 140 s, boot 44 s, objective 21 s", Found: "2.9 times the lower bound: a worker " +
			"stayed for the root of each tree, and the others are in time without it",
			Event: event("", "tree:roots=500,every=140s,depth=2,fanout=3,most=13,service=100ms,cv=0", 21*s, 44*s, 50),
			Least: 0.89, MostRatio: 1.5, MostPeak: 4},
	}
}

// drawn gives the worlds their traces that no generator makes.
func drawn(all []Named) {
	const m, h = time.Minute, time.Hour
	of := func(name string, draw func(seed uint64) trace.Trace) {
		i := slices.IndexFunc(all, func(n Named) bool { return n.Name == name })
		all[i].Event.Trace = func(seed uint64) (trace.Trace, error) { return draw(seed), nil }
	}
	of("a first message that hangs, then 200 of a second", func(uint64) trace.Trace { return behind(h) })
	of("a first message of a minute, then 200 of a second", func(uint64) trace.Trace { return behind(m) })
	of("a message of 25 min among 1,200 of a second", func(uint64) trace.Trace { return among(25 * m) })
	of("three messages of 20 min among 17 a second of 50 ms", func(uint64) trace.Trace { return stuck(20 * m) })
	of("three messages of 10 min among 17 a second of 50 ms, objective 20 s",
		func(uint64) trace.Trace { return stuck(595 * time.Second) })
	of("five times the work, three times as much, objective 15 s", func(uint64) trace.Trace { return changed() })
	of("on 15 min, off 6 h, objective 30 s", onAndOff)
	of("busy 30 min, quiet 70 min, boot 13 min, objective 7 min", busyAndQuiet)
}

// among is one message with so much work among 1,200 of one second each, three seconds apart.
func among(one time.Duration) trace.Trace {
	all := make([]trace.Message, 1200)
	for i := range all {
		all[i] = trace.Message{Arrival: time.Duration(i) * 3 * time.Second, Service: time.Second}
	}
	all[400].Service = one
	return trace.Of("among", all...)
}

// stuck is three messages with so much work among 15,000 of 50 ms each, 60 ms apart.
func stuck(each time.Duration) trace.Trace {
	all := make([]trace.Message, 15_000)
	for i := range all {
		all[i] = trace.Message{Arrival: time.Duration(i) * 60 * time.Millisecond, Service: 50 * time.Millisecond}
	}
	for i := range 3 {
		all[5000+i].Service = each
	}
	return trace.Of("stuck", all...)
}

// changed is 50 messages a second of 150 ms each for ten minutes, and then 150 a second of 750 ms for five.
func changed() trace.Trace {
	var all []trace.Message
	for at := time.Duration(0); at < 15*time.Minute; {
		if at < 10*time.Minute {
			all = append(all, trace.Message{Arrival: at, Service: 150 * time.Millisecond})
			at += 20 * time.Millisecond
			continue
		}
		all = append(all, trace.Message{Arrival: at, Service: 750 * time.Millisecond})
		at += 20 * time.Millisecond / 3
	}
	return trace.Of("changed", all...)
}

// behind is a first message with so much work, and behind it 200 messages of one second each, one a second.
func behind(first time.Duration) trace.Trace {
	messages := []trace.Message{{Service: first}}
	for i := range 200 {
		messages = append(messages, trace.Message{Arrival: time.Duration(i+1) * time.Second, Service: time.Second})
	}
	return trace.Of("behind", messages...)
}

// onAndOff has a message a second for 15 minutes, and then none for six hours.
func onAndOff(seed uint64) trace.Trace {
	f := flow{shape: OnOff, seed: seed, period: 6.25 * 3600, busy: 0.25 / 6.25}
	w := World{Length: 2 * 86400}
	w.Messages = int(w.Length * f.busy)
	return f.trace(w, work{mean: 10, cv: 0.5, factor: 1, seed: seed + 1})
}

// busyAndQuiet has half an hour of messages of 10 s each, one every 30 s at random, and then none for 70 minutes.
func busyAndQuiet(seed uint64) trace.Trace {
	const busy, quiet, apart = 30 * 60, 70 * 60, 30
	f := flow{shape: OnOff, seed: seed, period: busy + quiet, busy: float64(busy) / (busy + quiet)}
	w := World{Length: 86400}
	w.Messages = int(w.Length * f.busy / apart)
	return f.trace(w, work{mean: 10, cv: 0.5, factor: 1, seed: seed + 1})
}
