package draft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// Weekdays returns the days as the policy schedule names them, from Sunday on, which cron counts as 0.
func Weekdays() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// TimeOfDay reads a cron expression that means one time of day, on every day or on some weekdays. Without days it is
// every day. why says what else the expression is; then the others are empty.
func TimeOfDay(text string) (at string, days []string, why string) {
	f := strings.Fields(text)
	if len(f) != 5 {
		return "", nil, "found " + nodes.Brief(text) + ", allowed are five fields"
	}
	minute, errMinute := strconv.Atoi(f[0])
	hour, errHour := strconv.Atoi(f[1])
	if errMinute != nil || errHour != nil || minute < 0 || minute > 59 || hour < 0 || hour > 23 || f[2] != "*" ||
		f[3] != "*" {
		return "", nil, "found " + nodes.Brief(text) + ", which is not one time of each day"
	}
	if days, why = daysOf(f[4]); why != "" {
		return "", nil, why
	}
	return fmt.Sprintf("%02d:%02d", hour, minute), days, ""
}

// daysOf reads the weekdays of a cron expression: a star, or names, numbers and ranges in a list. A range may wrap
// around the end of the week.
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
			return nil, "found the weekdays " + nodes.Brief(field)
		}
		for i := a; ; i = (i + 1) % 7 {
			if is[i] = true; i == b {
				break
			}
		}
	}
	for i, name := range Weekdays() {
		if is[i] {
			days = append(days, name)
		}
	}
	return days, ""
}

// weekday returns the number of a weekday from its name or number, where 0 and 7 are both Sunday.
func weekday(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n % 7, n >= 0 && n <= 7
	}
	i := slices.Index(Weekdays(), strings.ToLower(text))
	return i, i >= 0
}
