package learning

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// class is what was measured of the messages of one class. The empty name is that of the messages without one, which
// count as a class once there is another.
type class struct {
	name      string
	durations series.Window
	// finished counts those that ended lately.
	finished series.Counts
}

// mergeClasses returns the histograms of a with those of many reports, of no more classes than [protocol.MaxClasses]
// and the one of the rest. Neither is changed.
func mergeClasses(a map[string]series.Durations, reports map[string][]series.Durations) map[string]series.Durations {
	if len(reports) == 0 {
		return a
	}
	sum := make(map[string]series.Durations, len(a)+len(reports))
	maps.Copy(sum, a)
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		into := name
		if _, known := sum[name]; !known && len(sum) >= protocol.MaxClasses {
			into = protocol.OtherClass
		}
		sum[into] = series.MergeAll(sum[into], reports[name]...)
	}
	return sum
}

// classify takes what was learned from since until the instant at into the classes. It returns others, and does not
// change those given. Nothing is known of classes until there is one.
func classify(all []class, since, at time.Time, l Learned, learn time.Duration) []class {
	if len(l.Classes) == 0 && (len(all) == 0 || l.Processing.Count == 0) {
		return all
	}
	// What has not come for as long as durations count makes room.
	kept := slices.DeleteFunc(slices.Clone(all), func(c class) bool { return c.durations.Durations(at).Count == 0 })
	rest := l.Processing
	for _, name := range slices.Sorted(maps.Keys(l.Classes)) {
		d := l.Classes[name]
		rest = series.Less(rest, d)
		kept = addClass(kept, name, since, at, d, learn)
	}
	return addClass(kept, "", since, at, rest, learn)
}

// addClass adds to the class of the given name, or to the rest when there is no room for one more.
func addClass(all []class, name string, since, at time.Time, d series.Durations, learn time.Duration) []class {
	if d.Count == 0 {
		return all
	}
	i, known := findClass(all, name)
	if !known && named(name) && full(all) {
		name = protocol.OtherClass
		i, known = findClass(all, name)
	}
	if !known {
		all = slices.Insert(all, i, class{name: name, durations: series.Window{Length: learn},
			finished: series.Counts{Length: PaceOver}})
	}
	c := &all[i]
	c.durations = c.durations.Add(at, d)
	c.finished = c.finished.Add(since, at, float64(d.Count))
	return all
}

// named tells the classes that messages name from the two that stand for others.
func named(name string) bool { return name != "" && name != protocol.OtherClass }

// full tells whether there are as many named classes as one report can tell apart.
func full(all []class) bool {
	n := 0
	for i := range all {
		if named(all[i].name) {
			n++
		}
	}
	return n >= protocol.MaxClasses
}

func findClass(all []class, name string) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(c class, name string) int { return strings.Compare(c.name, name) })
}

// mix summarises the classes at now, by name; nil while fewer than two are known. The classes it returns beside that
// keep the estimates; those given are not changed.
func mix(all []class, now time.Time) ([]class, []muster.Class) {
	if len(all) < 2 {
		return all, nil
	}
	all = slices.Clone(all)
	classes := make([]muster.Class, 0, len(all))
	lately, ever := 0.0, 0.0
	for i := range all {
		c := &all[i]
		var e muster.Estimate
		if c.durations, e = c.durations.At(now); !e.Known {
			continue
		}
		finished := c.finished.Over(now, PaceOver)
		classes = append(classes, muster.Class{Name: c.name, Finished: finished, Processing: e})
		lately, ever = lately+finished, ever+float64(e.Count)
	}
	if len(classes) < 2 {
		return all, nil
	}
	for i := range classes {
		c := &classes[i]
		c.Share = float64(c.Processing.Count) / ever
		if lately > 0 {
			c.Share = c.Finished / lately
		}
	}
	return all, classes
}
