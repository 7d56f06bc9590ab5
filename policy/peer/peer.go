// Package peer restates the published rules of other autoscalers as policies. The same traces, fleets and limits can
// then be run against all of them. The pages for users call them other autoscalers, or baselines.
//
// The main types:
//
//   - [Peer] is one entry of the list: its name, its one setting that users tune, and how to build its policy. [All]
//     returns the list and [Find] one of it.
//   - Each file has one rule: [TargetTracking] and [StepScaling] of AWS with their [Alarm] pair, [HPA] and [KEDA] of
//     Kubernetes, [ScaledJob], [KPA] of Knative, [Nomad], [Buildkite], [Practo], [QueueTime], [Laravel]. [Formula] and
//     [Fixed] are marks to compare with.
//   - [Every] gives a policy its own pace, because the controller steps every second and most autoscalers do not.
//
// One decision of an entry:
//
//	p, _ := peer.Find("keda")
//	policy := p.Build(0, 0) // the default setting, no prior
//	d := policy.Decide(observation, recent)
//
// How a rule is written: begin starts a turn with the numbers that the last decision kept. The rule checks its signals
// (lacks), computes a size, and ends the turn with settle, hold or between. Clocks of the original, such as a polling
// interval, are kept numbers too.
//
// Invariants:
//
//   - A peer is a muster.Policy: pure, without state of its own. What it must remember it keeps in its decisions.
//   - While a signal that it needs is unknown it holds, even where the original would take nothing for zero.
//   - Each file names its sources. docs/peers.md says what a rule leaves out.
//
// Nothing here is used in production. The policies of Muster are in package policy; the published rules of AWS that
// others need too are in packages awsrules/alarm, awsrules/tracking and awsrules/stepscaling.
package peer

import (
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/policy/planning"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/stepscaling"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/policy"
)

// Peer is one autoscaler to compare with.
type Peer struct {
	// Name is the peer's name, What its rule in one line.
	Name, What string
	// Setting names the one setting that users tune most, with its unit or reference; empty if there is none. Default
	// is its published value, or ours where docs/peers.md says so. Sweep holds the values to try in hindsight,
	// increasing, with the default among them.
	Setting string
	Default float64
	Sweep   []float64
	// Idle returns how long a worker waits for a message before it stops by itself; 0 is for ever.
	Idle func(setting float64) time.Duration
	// Memory is how far back the policy reads recent decisions.
	Memory time.Duration
	// Build makes the policy. A setting that is not a finite number above 0 selects the default. prior is the user's
	// figure for the mean processing duration; without it, peers that need one hold.
	Build func(setting float64, prior time.Duration) muster.Policy
	// MinWorkers is the smallest minimum that the peer supports.
	MinWorkers int
	// Period divides every interval of the peer: a controller that steps no more often misses none of them. Zero is a
	// peer that acts on every observation, or on rates and durations that the controller measures as it steps.
	Period time.Duration
}

// Find returns the peer with the given name.
func Find(name string) (Peer, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return all[i], true
}

// All returns every peer, in the order of docs/peers.md.
func All() []Peer {
	var all []Peer
	for _, group := range [][]Peer{awsPeers(), kedaPeers(), otherPeers(), exactPeers()} {
		all = append(all, group...)
	}
	for i, p := range all {
		all[i].Build = func(setting float64, prior time.Duration) muster.Policy {
			return p.Build(p.setting(setting), max(0, prior))
		}
		all[i].Idle = func(setting float64) time.Duration {
			if p.Idle == nil {
				return 0
			}
			return p.Idle(p.setting(setting))
		}
	}
	return all
}

// setting returns v, or the default if v is not a finite number above 0.
func (p Peer) setting(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return p.Default
	}
	return v
}

// idleSeconds is Idle for peers whose setting is the idle time.
func idleSeconds(setting float64) time.Duration {
	return time.Duration(min(setting, 86400) * float64(time.Second))
}

// instanceWarmup is EC2 Auto Scaling's default cooldown, which is also the warm-up of an instance if none is set.
const instanceWarmup = tracking.DefaultCooldown

// awsPeers are target tracking on three metrics, each with slow and fast alarms, and step scaling.
func awsPeers() []Peer {
	shares := []float64{0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.6}
	targets := []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.5, 2, 4}
	const share, utilization = "share of the acceptable backlog per instance", "target utilization"
	tracking := func(name, what string, base TargetTracking) Peer {
		base.Name, base.Warmup = name, instanceWarmup
		p := Peer{Name: name, What: what, Setting: share, Default: 1, Sweep: shares, Memory: time.Minute, MinWorkers: 1,
			Period: base.Alarm.Period}
		if base.Measured {
			p.Period = 0
		}
		if base.Utilization > 0 {
			p.Setting, p.Default, p.Sweep = utilization, base.Utilization, targets
		}
		p.Build = func(setting float64, prior time.Duration) muster.Policy {
			t := base
			t.Prior = prior
			if t.Utilization > 0 {
				t.Utilization = setting
			} else {
				t.Share = setting
			}
			return t
		}
		return p
	}
	fixed, fast := FixedAlarm(), FastAlarm()
	return []Peer{
		tracking("aws-static",
			"target tracking on backlog per instance with a fixed target, alarms of 3 and 15 minutes",
			TargetTracking{Alarm: fixed}),
		tracking("aws-static-fast", "aws-static with alarms on ten-second points", TargetTracking{Alarm: fast}),
		tracking("aws-dynamic", "target tracking on backlog per instance, the target read from measured durations "+
			"each minute", TargetTracking{Alarm: fixed, Measured: true}),
		tracking("aws-dynamic-fast", "aws-dynamic with alarms on ten-second points",
			TargetTracking{Alarm: fast, Measured: true}),
		tracking("aws-utilization", "target tracking on total work over total slots",
			TargetTracking{Alarm: fixed, Utilization: policy.DefaultTarget}),
		tracking("aws-utilization-fast", "aws-utilization with alarms on ten-second points",
			TargetTracking{Alarm: fast, Utilization: policy.DefaultTarget}),
		{Name: "aws-step", What: "step scaling on backlog per instance, alarms of two minutes", Setting: share,
			Default: 1, Sweep: shares,
			Memory: time.Minute, MinWorkers: 1, Period: time.Minute, Build: func(setting float64,
				prior time.Duration) muster.Policy {
				return StepScaling{Name: "aws-step", Share: setting, Prior: prior, Warmup: instanceWarmup,
					Alarm: Alarm{Period: time.Minute, High: 2, Low: 2, Below: 0.5},
					Out: []stepscaling.Step{byPercent(0, 1, 50), byPercent(1, 3, 100),
						byPercent(3, math.Inf(1), 300)},
					In: []stepscaling.Step{byPercent(-0.4, 0, -25), byPercent(math.Inf(-1), -0.4, -50)}}
			}},
	}
}

// byPercent returns a step that changes the capacity by a percentage. The bounds are in multiples of the threshold.
func byPercent(lower, upper, percent float64) stepscaling.Step {
	return stepscaling.Step{Lower: lower, Upper: upper,
		Change: stepscaling.Change{Type: stepscaling.PercentChangeInCapacity, Adjustment: percent}}
}

// kedaPeers are ScaledObject with three behaviors and ScaledJob with its three strategies.
func kedaPeers() []Peer {
	lengths := []float64{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200}
	const length = "queueLength"
	object := func(name, what string, k KEDA) Peer {
		k.Name = name
		return Peer{Name: name, What: what, Setting: length, Default: 5, Sweep: lengths,
			Memory: downWindow + time.Minute, Period: 2500 * time.Millisecond,
			Build: func(setting float64, _ time.Duration) muster.Policy {
				q := k
				q.HPA.Target = setting
				return q
			}}
	}
	job := func(name, what, strategy string) Peer {
		return Peer{Name: name, What: what, Setting: length, Default: 5, Sweep: lengths, Memory: time.Minute,
			Period: kedaPoll,
			Idle:   func(float64) time.Duration { return time.Second },
			Build: func(setting float64, _ time.Duration) muster.Policy {
				return Every{Name: name, Period: kedaPoll, Leave: true,
					Of: ScaledJob{Name: name, Target: setting, Strategy: strategy}}
			}}
	}
	hpa := HPA{Tolerance: 0.1, Sync: 15 * time.Second}
	explicit, tuned := hpa, hpa
	explicit.Behavior = DefaultBehavior()
	tuned.Tolerance = 0
	tuned.Behavior = &Behavior{
		Up:   Scaling{Rates: []Pace{{Percent: 900, Period: 15 * time.Second}, {Pods: 1000, Period: 15 * time.Second}}},
		Down: Scaling{Window: time.Minute, Rates: []Pace{{Percent: 100, Period: 15 * time.Second}}},
	}
	return []Peer{
		object("keda", "ScaledObject and its HPA with every default",
			KEDA{Poll: kedaPoll, Cooldown: kedaCooldown, HPA: hpa}),
		object("keda-behavior", "keda with the HPA's default behavior made explicit",
			KEDA{Poll: kedaPoll, Cooldown: kedaCooldown, HPA: explicit}),
		object("keda-tuned", "keda polling every 5 s, with a behavior that rises at once and falls after a minute",
			KEDA{Poll: 5 * time.Second, Cooldown: time.Minute, HPA: tuned}),
		job("keda-job", "ScaledJob with the default strategy", JobDefault),
		job("keda-job-accurate", "ScaledJob with the accurate strategy", JobAccurate),
		job("keda-job-eager", "ScaledJob with the eager strategy", JobEager),
	}
}

// KEDA's defaults.
const (
	kedaPoll     = 30 * time.Second
	kedaCooldown = 300 * time.Second
)

// otherPeers are autoscalers outside of AWS and KEDA.
func otherPeers() []Peer {
	messages := []float64{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200}
	return []Peer{
		{Name: "kpa", What: "Knative's pod autoscaler: means of a minute, and of six seconds in panic",
			Setting: "target utilization", Default: 0.7,
			Sweep: []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.5, 2, 4}, Memory: kpaStable + time.Second,
			Period: kpaScrape,
			Build:  func(setting float64, _ time.Duration) muster.Policy { return KPA{Utilization: setting} }},
		{Name: "nomad", What: "Nomad's target-value strategy, one action at a time and five minutes apart",
			Setting: "work per member", Default: 5,
			Sweep: messages, Memory: nomadCooldown, Period: 10 * time.Second,
			Build: func(setting float64, _ time.Duration) muster.Policy {
				return Every{Name: "nomad", Period: 10 * time.Second,
					Of: Nomad{Target: setting, Cooldown: nomadCooldown}}
			}},
		{Name: "buildkite", What: "an agent for each job; instances end themselves after ten idle minutes",
			Setting: "idle seconds", Default: 600,
			Sweep: []float64{15, 30, 60, 90, 120, 180, 300, 600, 900, 1800}, Idle: idleSeconds,
			Memory: buildkiteCooldown, Period: 10 * time.Second,
			Build: func(float64, time.Duration) muster.Policy {
				return Every{Name: "buildkite", Period: 10 * time.Second, Leave: true,
					Of: Buildkite{Cooldown: buildkiteCooldown}}
			}},
		{Name: "practo", What: "total work over a target, a floor from the arrival rate, falls ten minutes after any " +
			"change", Setting: "targetMessagesPerWorker",
			Default: 2, Sweep: messages, Memory: practoDelay,
			Build: func(setting float64, prior time.Duration) muster.Policy {
				return Every{Name: "practo", Period: 20 * time.Second,
					Of: Practo{Target: setting, Processing: prior, Delay: practoDelay}}
			}},
		{Name: "queue-time", What: "one worker more above a range of queue times, one fewer after ten minutes below it",
			Setting: "upper bound as a share of the objective",
			Default: 0.5, Sweep: []float64{0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9}, Memory: queueTimeDown,
			Period: 10 * time.Second,
			Build: func(setting float64, _ time.Duration) muster.Policy {
				return Every{Name: "queue-time", Period: 10 * time.Second,
					Of: QueueTime{Upper: setting, Lower: setting / 5, Jump: 1, UpEvery: time.Minute,
						DownAfter: queueTimeDown}}
			}},
		{Name: "laravel", What: "the larger of Little's law and a backlog drain that grows with age",
			Setting: "goal for the wait as a share of the objective",
			Default: 1, Sweep: []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25}, Memory: 310 * time.Second,
			Build: func(setting float64, prior time.Duration) muster.Policy {
				return Every{Name: "laravel", Period: 5 * time.Second,
					Of: Laravel{Share: setting, Prior: prior, Cooldown: time.Minute}}
			}},
	}
}

// The long intervals of these peers. Each is its Memory too, because within reads the last change from the recent
// decisions.
const (
	nomadCooldown     = 300 * time.Second
	buildkiteCooldown = 300 * time.Second
	practoDelay       = 600 * time.Second
	queueTimeDown     = 600 * time.Second
)

// exactPeers are marks to compare with, and two that launch a worker for every message and differ in the idle time.
func exactPeers() []Peer {
	exact := func(float64, time.Duration) muster.Policy { return planning.Exact{} }
	return []Peer{
		{Name: "fixed", What: "a fleet that is never scaled", Setting: "workers", Default: 10,
			Sweep: []float64{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200},
			Build: func(setting float64, _ time.Duration) muster.Policy {
				return Fixed{Workers: workers(setting)}
			}},
		{Name: "formula",
			What:    "all that waits or is in flight, over what a worker begins in time that is launched now",
			Setting: "share of the objective",
			Default: 0.97, Sweep: []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97},
			Build: func(setting float64, _ time.Duration) muster.Policy { return Formula{Share: min(1, setting)} }},
		{Name: "s3", What: "a task for every message that has none; tasks stop after an idle time",
			Setting: "idle seconds", Default: 30,
			Sweep: []float64{1, 5, 10, 15, 30, 60, 90, 120, 180, 300, 600}, Idle: idleSeconds, Build: exact},
		{Name: "delayedoff", What: "a server for every message that finds none; servers stop after an idle time that " +
			"a start-up is worth", Setting: "idle seconds",
			Default: 120, Sweep: []float64{15, 30, 60, 90, 120, 180, 260, 400, 600, 900}, Idle: idleSeconds,
			Build: exact},
	}
}
