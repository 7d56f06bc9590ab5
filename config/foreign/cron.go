package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/policy"
)

// cron takes in a trigger of the type cron: so many replicas between two times of day.
func (d *draft) cron(n *yaml.Node) {
	m := nodes.Get(n, "metadata")
	replicas, ok := number(nodes.Plain(nodes.Get(m, "desiredReplicas")))
	start, end := nodes.Get(m, "start"), nodes.Get(m, "end")
	from, days, why := timeOfDay(nodes.Plain(start))
	if why == "" {
		to, last, reason := timeOfDay(nodes.Plain(end))
		if why = reason; why == "" && !slices.Equal(days, last) && !nextDay(days, last, from, to) {
			why = "it ends on other days than it begins"
		}
		if why == "" && (!ok || replicas < 1 || replicas > mostWorkers || replicas != float64(int(replicas))) {
			why = "found " + brief(nodes.Plain(nodes.Get(m, "desiredReplicas"))) + " for desiredReplicas"
		}
		if why == "" {
			d.interval(
				n,
				policy.Interval{
					Days:    days,
					From:    from,
					To:      to,
					Zone:    nodes.Plain(nodes.Get(m, "timezone")),
					Workers: int(replicas),
				},
			)
			d.rest(m, "the trigger", "timezone", "start", "end", "desiredReplicas")
			return
		}
	}
	d.note(nodes.Or(nodes.Get(n, "type"), n), "a trigger of the type cron is not carried over: %s", why)
}

// nextDay tells whether an interval over midnight ends on the days after those on which it begins.
func nextDay(days, last []string, from, to string) bool {
	if to > from || len(days) != len(last) {
		return false
	}
	for _, day := range days {
		i := slices.Index(weekdays(), day)
		if i < 0 || !slices.Contains(last, weekdays()[(i+1)%7]) {
			return false
		}
	}
	return true
}

// interval adds an interval to the schedule, of which there is one.
func (d *draft) interval(n *yaml.Node, i policy.Interval) {
	at := slices.IndexFunc(d.Policies, func(s policy.Spec) bool { return s.Name == "schedule" })
	spec := policy.Spec{Name: "schedule"}
	if at >= 0 {
		spec = d.Policies[at]
	}
	spec.Intervals = append(slices.Clone(spec.Intervals), i)
	// The first interval counts where two are on, there it is the one with most replicas.
	slices.SortStableFunc(spec.Intervals, func(a, b policy.Interval) int { return b.Workers - a.Workers })
	switch err := spec.Check(); {
	case err != nil:
		d.note(n, "a trigger of the type cron is not carried over: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	case at >= 0:
		d.Policies[at] = spec
	default:
		d.add(n, spec)
	}
}

func weekdays() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// timeOfDay reads a cron expression that is one time of day, every day or on some days of the week. The days are empty
// for every day; why says what else it is.
func timeOfDay(text string) (at string, days []string, why string) {
	f := strings.Fields(text)
	if len(f) != 5 {
		return "", nil, "found " + brief(text) + ", allowed are five fields"
	}
	minute, errMinute := strconv.Atoi(f[0])
	hour, errHour := strconv.Atoi(f[1])
	if errMinute != nil || errHour != nil || minute < 0 || minute > 59 || hour < 0 || hour > 23 || f[2] != "*" ||
		f[3] != "*" {
		return "", nil, "found " + brief(text) + ", which is not one time of each day"
	}
	if days, why = daysOf(f[4]); why != "" {
		return "", nil, why
	}
	return fmt.Sprintf("%02d:%02d", hour, minute), days, ""
}

// daysOf reads the field of the weekdays: a star, names or numbers, ranges and lists of them.
func daysOf(field string) (days []string, why string) {
	if field == "*" || field == "?" {
		return nil, ""
	}
	var is [7]bool
	for _, part := range strings.Split(field, ",") {
		first, last, ranges := strings.Cut(part, "-")
		a, okA := weekday(first)
		b, okB := weekday(last)
		if !ranges {
			b, okB = a, okA
		}
		if !okA || !okB {
			return nil, "found the weekdays " + brief(field)
		}
		for i := a; ; i = (i + 1) % 7 {
			if is[i] = true; i == b {
				break
			}
		}
	}
	for i, name := range weekdays() {
		if is[i] {
			days = append(days, name)
		}
	}
	return days, ""
}

func weekday(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n % 7, n >= 0 && n <= 7
	}
	i := slices.Index(weekdays(), strings.ToLower(text))
	return i, i >= 0
}
