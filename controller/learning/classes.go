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

// class has the measurements of one message class. The empty name stands for messages without a class, which count as a
// class once there is another.
type class struct {
	name      string
	durations series.Window
	// finished counts the messages that ended lately.
	finished series.Counts
}

// mergeClasses returns the sum of a and of many reports, by class. It keeps at most [protocol.MaxClasses] classes;
// further ones count as "other". Names are processed in order, so that the result does not depend on the order of a
// map.
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

// classify adds a record, of the time from since to at, to the classes. It returns a new slice. Before the first class
// is reported there are no classes at all.
func classify(all []class, since, at time.Time, l Learned, learn time.Duration) []class {
	if len(l.Classes) == 0 && (len(all) == 0 || l.Processing.Count == 0) {
		return all
	}
	// Classes without a measurement in the window make room for new ones.
	kept := slices.DeleteFunc(slices.Clone(all), func(c class) bool { return c.durations.Durations(at).Count == 0 })
	rest := l.Processing
	for _, name := range slices.Sorted(maps.Keys(l.Classes)) {
		d := l.Classes[name]
		rest = series.Less(rest, d)
		kept = addClass(kept, name, since, at, d, learn)
	}
	return addClass(kept, "", since, at, rest, learn)
}

// addClass adds durations to the class of the given name, or to "other" if there is no room for one more.
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
			finished: series.Counts{Length: paceOver()}})
	}
	c := &all[i]
	c.durations = c.durations.Add(at, d)
	c.finished = c.finished.Add(since, at, float64(d.Count))
	return all
}

// named tells whether a name is that of a reported class, not one of the two that stand for other messages.
func named(name string) bool { return name != "" && name != protocol.OtherClass }

// full tells whether there are as many named classes as one report may have.
func full(all []class) bool {
	n := 0
	for i := range all {
		if named(all[i].name) {
			n++
		}
	}
	return n >= protocol.MaxClasses
}

// findClass returns the index of a class, or where to insert it.
func findClass(all []class, name string) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(c class, name string) int { return strings.Compare(c.name, name) })
}

// mix summarises the classes at now, by name; nil while fewer than two have measurements. The first result is a copy of
// all with cached estimates; the argument is not changed.
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
		finished := c.finished.Over(now, paceOver())
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
