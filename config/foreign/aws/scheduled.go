package aws

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/policy"
)

// This file turns scheduled actions into the policy schedule, and says what becomes of predictive scaling.

const (
	dayMinutes  = 24 * 60
	weekMinutes = 7 * dayMinutes
)

// timed is the size that a scheduled action sets at a minute of the week, counted from midnight of Sunday.
type timed struct {
	// minute is 0 to 10,079.
	minute, workers int
}

// calendar collects the scheduled actions of one group or service.
type calendar struct {
	// t and s are where values are resolved and where notes go.
	t     *stack
	s     *scaled
	zone  string // of all actions; one schedule has one zone
	zoned bool   // an action has set the zone
	// all has an entry for each action and day.
	all     []timed
	largest int // the largest maximum that any of them sets
}

// scheduled reads the scheduled actions of a group or service. An action sets a size that holds until the next one
// sets another. All together are therefore a calendar of the week, whose last action holds until the first of next
// week.
func (t *stack) scheduled(s *scaled) {
	c := calendar{t: t, s: s, largest: s.Max}
	for _, n := range s.actions {
		c.action(n)
	}
	// A configuration has one maximum. The larger one is safe, because the policies decide below it.
	if c.largest > s.Max {
		s.Remark(
			"The largest maximum that a scheduled action sets, %d, stands for the maximum at all times.", c.largest,
		)
		s.Max = min(c.largest, draft.MostWorkers)
	}
	if len(c.all) == 0 {
		return
	}
	// Of two actions at one minute the later one in the text stays last, and holds.
	slices.SortStableFunc(c.all, func(a, b timed) int { return a.minute - b.minute })
	least := c.all[0].workers
	for _, x := range c.all {
		least = min(least, x.workers)
	}
	// The schedule keeps the fleet at its intervals, and the minimum everywhere else: so it is the least of the week.
	if least != s.Min {
		s.Remark(
			"Its scheduled actions set the minimum at all times, %d at the least; the %d stated for it counts "+
				"until the first of them.",
			least, s.Min,
		)
		s.Min = least
	}
	spec := policy.Spec{Name: "schedule", Intervals: c.intervals(least)}
	if len(spec.Intervals) == 0 {
		return
	}
	// The calendar may have more intervals than a configuration allows.
	if err := spec.Check(); err != nil {
		s.Note(s.At, "its scheduled actions are not carried over: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	s.Add(s.At, spec)
}

// action reads one scheduled action: the properties of AWS::AutoScaling::ScheduledAction, or an entry of a scalable
// target. Its minimum counts; a desired capacity only where nothing else sizes the fleet, because policies move it
// on.
func (c *calendar) action(n *yaml.Node) {
	s := c.s
	not := func(why string, args ...any) {
		s.Note(n, "a scheduled action is not carried over: %s", fmt.Sprintf(why, args...))
	}
	// The two services have the same settings under different names.
	sizes, least, most, when := n, "MinSize", "MaxSize", "Recurrence"
	if nodes.Get(n, "Schedule") != nil || nodes.Get(n, "ScalableTargetAction") != nil {
		sizes, least, most, when = nodes.Get(n, "ScalableTargetAction"), "MinCapacity", "MaxCapacity", "Schedule"
	}
	// The maximum is kept apart from the calendar, because a configuration has one for all times.
	if nodes.Get(sizes, most) != nil {
		c.largest = max(c.largest, c.t.size(s, sizes, most, 0))
	}
	desired := nodes.Get(sizes, "DesiredCapacity")
	of := nodes.Get(sizes, least)
	switch {
	// Without policies, nothing moves the size on, so the desired capacity is what the action keeps.
	case of == nil && desired != nil && len(s.policies) == 0:
		of, least = desired, "DesiredCapacity" // nothing else sizes it
	case of == nil && desired != nil:
		not("it sets the size once, and its policies go on from there; a minimum for a time is the policy schedule")
		return
	case of == nil:
		if nodes.Get(sizes, most) == nil {
			not("it sets no size")
		}
		return
	case desired != nil:
		s.Note(
			desired,
			"the DesiredCapacity of a scheduled action is not carried over: its minimum is, and above it its "+
				"policies decide",
		)
	}
	v := c.t.Resolve(of)
	workers, ok := nodes.Number(v.Text)
	if v.Why != "" || !ok || workers < 0 || workers != float64(int(workers)) || workers > draft.MostWorkers {
		not("its %s cannot be determined%s", least, reason(v, ok))
		return
	}
	// A recurring action with a start or an end is a season, which a schedule of the week cannot express.
	for _, key := range []string{"StartTime", "EndTime"} {
		if x := nodes.Get(n, key); x != nil && nodes.Get(n, when) != nil {
			s.Note(x, "%s of a scheduled action is not carried over: it counts at all times", key)
		}
	}
	text := c.t.Resolve(nodes.Get(n, when))
	if nodes.Get(n, when) == nil || text.Why != "" {
		not("it is for one time alone, or when it is cannot be determined")
		return
	}
	// Only times of the week can be carried over: no days of a month, and no intervals of minutes.
	at, days, why := whenOf(text.Text, when == "Schedule")
	if why != "" {
		not("%s", why)
		return
	}
	zone := c.t.Resolve(nodes.Or(nodes.Get(n, "TimeZone"), nodes.Get(n, "Timezone"))).Text
	// The minutes of the week of two zones cannot be put in order once and for all.
	if c.zoned && zone != c.zone {
		not("its zone is %s, and that of an earlier one %s", nodes.Brief(zone), nodes.Brief(c.zone))
		return
	}
	c.zone, c.zoned = zone, true
	for _, day := range days {
		c.all = append(c.all, timed{day*dayMinutes + at, int(workers)})
	}
}

// whenOf returns the minute of the day and the days of a recurrence: the five fields of EC2 Auto Scaling, or
// cron(...) of Application Auto Scaling, which has six and counts days from 1 for Sunday. why says what else it is.
func whenOf(text string, scalable bool) (minute int, days []int, why string) {
	fields := text
	if scalable {
		inner, is := strings.CutPrefix(strings.TrimSpace(text), "cron(")
		f := strings.Fields(strings.TrimSuffix(inner, ")"))
		if !is || len(f) != 6 || f[5] != "*" {
			return 0, nil, "found " + nodes.Brief(text) + ", which is not one time of each week"
		}
		if f[2] == "?" {
			f[2] = "*"
		}
		// EC2 Auto Scaling counts days from 0, as cron does.
		f[4] = strings.Map(func(r rune) rune {
			if r >= '1' && r <= '7' {
				return r - 1
			}
			return r
		}, f[4])
		fields = strings.Join(f[:5], " ")
	}
	at, names, why := draft.TimeOfDay(fields)
	if why != "" {
		return 0, nil, why
	}
	for i, name := range draft.Weekdays() {
		if len(names) == 0 || slices.Contains(names, name) {
			days = append(days, i)
		}
	}
	var hour int
	_, err := fmt.Sscanf(at, "%d:%d", &hour, &minute)
	if err != nil {
		return 0, nil, "found " + nodes.Brief(text)
	}
	return hour*60 + minute, days, ""
}

// intervals returns the times of the week with more than the least size, cut at midnight. Equal times on several days
// become one interval.
func (c *calendar) intervals(least int) (all []policy.Interval) {
	add := func(day, from, to, workers int) {
		i := policy.Interval{From: clock(from), To: clock(to), Zone: c.zone, Workers: workers}
		k := slices.IndexFunc(
			all, func(x policy.Interval) bool { return x.From == i.From && x.To == i.To && x.Workers == i.Workers },
		)
		if k < 0 {
			all, k = append(all, i), len(all)
		}
		all[k].Days = append(all[k].Days, draft.Weekdays()[day])
	}
	for k, x := range c.all {
		// The last action of the week holds until the first one of the next.
		end := c.all[0].minute + weekMinutes
		if k+1 < len(c.all) {
			end = c.all[k+1].minute
		}
		for from := x.minute; from < end && x.workers > least; {
			// An interval of the policy schedule is within one day, so a longer time is cut at midnight.
			to := min(end, (from/dayMinutes+1)*dayMinutes)
			day := from / dayMinutes
			add(day%7, from-day*dayMinutes, to-day*dayMinutes, x.workers)
			from = to
		}
	}
	for k := range all {
		slices.SortFunc(
			all[k].Days, func(a, b string) int {
				return slices.Index(draft.Weekdays(),
					a) - slices.Index(draft.Weekdays(), b)
			},
		)
		if len(all[k].Days) == 7 {
			// An interval without days holds every day.
			all[k].Days = nil
		}
	}
	return all
}

// clock returns a minute of a day as HH:MM; the end of the day is 24:00.
func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

// predictive adds notes about a predictive policy: its forecast has no equivalent that would be on by default.
func (t *stack) predictive(s *scaled, p scalingPolicy) {
	c := nodes.Or(
		nodes.Get(p.properties, "PredictiveScalingConfiguration"),
		nodes.Get(p.properties, "PredictiveScalingPolicyConfiguration"),
	)
	// The note says what Muster has instead, and that it is off by default.
	const ours = "Muster has a forecast of its own, by what came at the same time of other days and weeks. It is " +
		"off unless you ask for it, in place of the policy below: policy {name: deadline, forecast: seasonal}; " +
		"and it is used only while it beats reacting to what came"
	if mode := t.Resolve(nodes.Get(c, "Mode")).Text; mode != "ForecastAndScale" {
		s.Note(
			p.at, "%s is a predictive policy that forecasts and sizes nothing; it is not carried over. %s", p.name,
			ours,
		)
		return
	}
	s.Note(
		p.at, "%s is a predictive policy, which is not carried over: its minimum by forecast falls away. %s", p.name,
		ours,
	)
	if b := nodes.Get(c, "MaxCapacityBreachBehavior"); t.Resolve(b).Text == "IncreaseMaxCapacity" {
		s.Note(b, "%s lets a forecast go beyond the maximum; here nothing does", p.name)
	}
}
