package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Schedule keeps a size by the calendar: that of the first interval that contains the instant, or none. It asks whether
// an interval contains an instant, never when one begins. So a restart, a late poll or a clock change loses nothing.
// When a zone skips or repeats an hour, the local clock time counts.
type Schedule struct {
	// Intervals are tried in order.
	Intervals []Interval
}

// Interval is a part of the week with a size.
type Interval struct {
	// Days are "mon" to "sun"; empty means every day. An interval over midnight belongs to the day on which it begins.
	Days []string `json:"days,omitzero"`
	// From and To are times of day as "15:04" in Zone: From <= time < To. Where To is not after From, the interval ends
	// on the next day; equal times are the whole day. "24:00" is the end of the day.
	From string `json:"from"`
	To   string `json:"to"`
	// Zone is the name of a time zone, as in "Europe/Berlin"; empty means UTC.
	Zone string `json:"zone,omitzero"`
	// Workers is the size, at least 0.
	Workers int `json:"workers"`
}

// Decide implements [muster.Policy].
func (p Schedule) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	const rule = "schedule"
	d := rules.Begin(o, "schedule/1")
	t := muster.Term{Rule: rule, Why: "no interval of the schedule contains this time"}
	for _, i := range p.Intervals {
		if i.Contains(o.At) {
			t.Out = i.Workers
			t.Why = fmt.Sprintf("%s to %s in %s, %s: %s", i.From, i.To, cmp.Or(i.Zone, "UTC"),
				cmp.Or(strings.Join(i.Days, ", "), "every day"),
				render.Plural(i.Workers, "worker"))
			break
		}
	}
	t.In = []muster.Value{rules.Value("workers", float64(t.Out))}
	d.Floor = t.Out
	return d.With(t)
}

// Contains tells whether the instant at is in the interval. An interval that [Spec.Check] refuses contains nothing.
func (i Interval) Contains(at time.Time) bool {
	zone, err := time.LoadLocation(i.Zone)
	from, okFrom := minuteOfDay(i.From)
	to, okTo := minuteOfDay(i.To)
	if err != nil || !okFrom || !okTo {
		return false
	}
	local := at.In(zone)
	now := local.Hour()*60 + local.Minute()
	today, yesterday := i.includesDay(local.Weekday()), i.includesDay((local.Weekday()+6)%7)
	switch {
	case from == to:
		return today
	case from < to:
		return today && from <= now && now < to
	}
	return today && now >= from || yesterday && now < to
}

// includesDay tells whether the interval begins on the given day of the week.
func (i Interval) includesDay(day time.Weekday) bool {
	return len(i.Days) == 0 || slices.Contains(i.Days, weekdays()[day])
}

// weekdays returns the names of the days in the order of time.Weekday, Sunday first.
func weekdays() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// minuteOfDay returns the minutes since midnight of a text such as "08:30", or false for another text. "24:00" is valid
// and ends a day.
func minuteOfDay(text string) (int, bool) {
	if text == "24:00" {
		return 24 * 60, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil
}

// checkSchedule returns the faults of the intervals. The zone "Local" is refused, because the same configuration would
// mean something else on another machine.
func checkSchedule(s Spec) []error {
	if len(s.Intervals) < 1 || len(s.Intervals) > 100 {
		return []error{&Fault{"policy.intervals", fmt.Sprintf("%d of them", len(s.Intervals)), "1 to 100 intervals"}}
	}
	var faults []error
	for _, i := range s.Intervals {
		for _, text := range []string{i.From, i.To} {
			if _, ok := minuteOfDay(text); !ok {
				faults = append(faults, &Fault{"policy.intervals", fmt.Sprintf("the time %q", text),
					"a time of day such as 08:30, or 24:00"})
			}
		}
		for _, day := range i.Days {
			if !slices.Contains(weekdays(), day) {
				faults = append(faults, &Fault{"policy.intervals", fmt.Sprintf("the day %q", day),
					strings.Join(weekdays(), ", ")})
			}
		}
		if _, err := time.LoadLocation(i.Zone); err != nil || i.Zone == "Local" {
			faults = append(faults, &Fault{"policy.intervals", fmt.Sprintf("the zone %q", i.Zone),
				"the name of a time zone such as Europe/Berlin, or none for UTC"})
		}
		if i.Workers < 0 {
			faults = append(faults, &Fault{"policy.intervals", fmt.Sprintf("%d workers", i.Workers),
				"a number of at least 0"})
		}
	}
	return faults
}
