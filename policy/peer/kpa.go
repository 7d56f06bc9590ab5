package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// KPA is the rule of Knative's pod autoscaler, with backlog plus in flight in place of concurrent requests. The mean of
// a minute decides. If the mean of six seconds needs twice the present pods, the autoscaler panics: for a minute the
// fleet only grows.
//
// Sources: knative/serving pkg/autoscaler/scaling/autoscaler.go, pkg/autoscaler/aggregation/bucketing.go,
// pkg/autoscaler/config/config.go, pkg/reconciler/autoscaling/kpa/scaler.go.
type KPA struct {
	// Utilization is the target share of busy slots, above 0.
	Utilization float64
}

// Knative's defaults: the two windows, the tick of decisions, the interval of scrapes and the grace before zero; the
// ratio that starts a panic, and the largest factors of a rise and a fall.
const (
	kpaStable  = 60 * time.Second
	kpaPanic   = 6 * time.Second
	kpaTick    = 2 * time.Second
	kpaScrape  = time.Second
	kpaGrace   = 30 * time.Second
	kpaOver    = 2.0
	kpaMaxUp   = 1000.0
	kpaMaxDown = 2.0
)

// Names kept by the KPA: two clocks; the last scraped load; the last fed time and the start of each window; the time of
// the last panic and its largest size; the time since which no pod is needed.
const (
	keptScrape   = "next_scrape_s"
	keptTick     = "next_tick_s"
	keptLoad     = "load"
	keptFed      = "fed_s"
	keptStable   = "stable_from_s"
	keptPanic    = "panic_from_s"
	keptPanicked = "panicked_s"
	keptMost     = "panic_most"
	keptNothing  = "nothing_s"
)

// Decide implements [muster.Policy].
func (p KPA) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "kpa", keptScrape, keptTick, keptLoad, keptFed, keptStable, keptPanic, keptPanicked, keptMost,
		keptNothing)
	if d, lacks := t.lacks(needWork | needCapacity); lacks {
		return d
	}
	load, serving := work(o), o.Capacity.InService()
	if _, scrape := t.keep.due(keptScrape, o.At, kpaScrape, 0); scrape {
		feed(&t.keep, seconds(o.At), load, serving)
	}
	_, ran := t.keep.get(keptTick)
	_, look := t.keep.due(keptTick, o.At, kpaTick, 0)
	if !ran && serving > 1 {
		// An autoscaler without a history starts in panic, so that it does not shrink the fleet it finds.
		t.keep.set(keptPanicked, seconds(o.At))
		t.keep.set(keptMost, float64(serving))
	}
	// At zero the first request wakes the autoscaler at once, through the activator.
	if !look && (o.Capacity.Desired > 0 || load == 0) {
		return t.between()
	}
	fed, ok := t.keep.get(keptFed)
	if !ok || seconds(o.At)-fed >= kpaStable.Seconds() {
		return t.hold(muster.Steady, nil, "no pod reported for %s", kpaStable)
	}
	return p.scale(t, recent)
}

// feed stores a scraped load. Without pods and requests no pod reports. A window that got no report for its whole
// length starts again.
func feed(k *notes, now, load float64, serving int) {
	k.set(keptLoad, load)
	if load == 0 && serving == 0 {
		return
	}
	fed, ok := k.get(keptFed)
	for _, w := range []struct {
		from   string
		length time.Duration
	}{{keptStable, kpaStable}, {keptPanic, kpaPanic}} {
		if _, has := k.get(w.from); !has || !ok || now-fed >= w.length.Seconds() {
			k.set(w.from, now)
		}
	}
	k.set(keptFed, now)
}

// mean returns the mean load of a window, in one-second steps back from now, not beyond the time from. Seconds without
// a report count with the load at that time, which is 0.
func mean(recent muster.Recent, now, load float64, window time.Duration, from float64) float64 {
	sum, n := 0.0, 0.0
	i := len(recent)
	for back := 0.0; back < window.Seconds(); back++ {
		at := now - back
		if back > 0 && at < from-tick {
			break
		}
		if back > 0 {
			for i > 0 && seconds(recent[i-1].At) > at+tick {
				i--
			}
			if i == 0 {
				break
			}
			load, _ = recent[i-1].Find(keptLoad)
		}
		sum += load
		n++
	}
	return sum / n
}

// scale is one tick with a load to decide on.
func (p KPA) scale(t *turn, recent muster.Recent) muster.Decision {
	now, load := seconds(t.o.At), work(t.o)
	ready := float64(max(1, t.o.Capacity.InService()))
	target := p.Utilization * slots(t.o)
	stable := mean(recent, now, load, kpaStable, t.keep.or(keptStable, now))
	burst := mean(recent, now, load, kpaPanic, t.keep.or(keptPanic, now))
	most, least := math.Ceil(kpaMaxUp*ready), math.Floor(ready/kpaMaxDown)
	wantStable, wantBurst := math.Ceil(stable/target-1e-9), math.Ceil(burst/target-1e-9)
	n := workers(clampFloat(wantStable, least, most))

	panicked, panics := t.keep.get(keptPanicked)
	switch over := wantBurst/ready >= kpaOver; {
	case over:
		t.keep.set(keptPanicked, now)
		panics = true
	case panics && panicked+kpaStable.Seconds() < now-tick:
		t.keep.drop(keptPanicked)
		t.keep.drop(keptMost)
		panics = false
	}
	in := []muster.Value{num("stable", stable), num("panic", burst), num("target", target), num("ready", ready)}
	mode := "stable"
	if panics {
		mode = "panic"
		n = max(n, workers(clampFloat(wantBurst, least, most)), workers(t.keep.or(keptMost, 0)))
		t.keep.set(keptMost, float64(n))
	}
	if n > 0 {
		t.keep.drop(keptNothing)
		return t.settle(n, in, "%s in the minute and %s in six seconds, at %s a pod: %s in %s mode",
			render.Number(stable),
			render.Number(burst), render.Number(target), render.Plural(n, "pod"), mode)
	}
	return t.toZero(in)
}

// toZero scales to zero once no pod was needed for the grace period.
func (t *turn) toZero(in []muster.Value) muster.Decision {
	now := seconds(t.o.At)
	since, waits := t.keep.get(keptNothing)
	if !waits {
		since = now
		t.keep.set(keptNothing, now)
	}
	if now-since < kpaGrace.Seconds()-tick {
		return t.hold(muster.CoolingDown, in, "no pod is needed, but for less than %s so far", kpaGrace)
	}
	return t.settle(0, in, "no pod was needed for %s", kpaGrace)
}

// clampFloat returns v between low and high; high wins if they contradict.
func clampFloat(v, low, high float64) float64 { return min(max(v, low), high) }
