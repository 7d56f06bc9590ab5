// Package reaction holds the goals for the time from a message sent to the new desired count. A test of
// internal/endtoend measures it in four ways within one run, because it has the modelled AWS and its real clients:
//
//	in process   a message in an embedded queue, until the decision is recorded
//	over HTTP    a message and an event, by the SDK, until the new size arrives at the modelled AWS
//	in a burst   the same for two further ones that follow within a second
//	alarm        an alarm of CloudWatch with periods of one minute, in virtual time
//
// [Rows] reads the line that the test prints, and returns the rows of the page. Package bench runs the test.
package reaction

import (
	"fmt"
	"strings"
	"time"
)

// The goals: 99th percentiles, and how many times shorter the median over HTTP is than that of the alarm.
const (
	mostInProcess = 20 * time.Millisecond
	mostOverHTTP  = 150 * time.Millisecond
	leastGain     = 1000
)

// Test is the test that measures, Where its package, and Rounds the variable that sets the number of rounds: a round
// has eight samples in process and over HTTP and 16 in bursts, and takes 5 s.
const (
	Test   = "TestAMessageIsFollowedInMilliseconds"
	Where  = "./internal/endtoend"
	Rounds = "MUSTER_REACTIONS=25"
)

// Why says what costs most of the time, for a goal that is not met.
const Why = "calls that describe groups are gathered for 20 ms, and in a burst the reading of the event before is " +
	"still under way; other programs on the machine add to both."

// Row is a goal and what was found.
type Row struct {
	What, Goal, Found string
	Met               bool
}

// figures are what the test prints.
type figures struct {
	inside, over, burst     int
	insideMedian, insideP99 time.Duration
	overMedian, overP99     time.Duration
	burstMedian, burstP99   time.Duration
	byAlarm                 time.Duration
	gain                    float64
}

// Rows returns the rows of the page from the output of the test.
func Rows(lines []string) ([]Row, error) {
	for _, line := range lines {
		if _, text, ok := strings.Cut(line, "result: "); ok {
			f, err := read(text)
			if err != nil {
				return nil, fmt.Errorf("read the figures of reactions in %q: %w", text, err)
			}
			return f.rows(), nil
		}
	}
	return nil, fmt.Errorf("read the figures of reactions: found no result in %q", lines)
}

// read parses one line of the test. Durations are texts, so they are parsed after the scan.
func read(text string) (f figures, err error) {
	var a, b, c, d, e, g, h string
	// Semicolons and colons would belong to the words before them.
	text = strings.NewReplacer(";", "", ":", "").Replace(text)
	if _, err := fmt.Sscanf(text, "%d and %d and %d samples in process p50 %s p99 %s over HTTP p50 %s p99 %s in a "+
		"burst p50 %s p99 %s alarm of one minute p50 %s gain %f", &f.inside, &f.over, &f.burst, &a, &b, &c, &d, &e, &g,
		&h, &f.gain); err != nil {
		return f, err
	}
	for i, into := range []*time.Duration{&f.insideMedian, &f.insideP99, &f.overMedian, &f.overP99, &f.burstMedian,
		&f.burstP99, &f.byAlarm} {
		if *into, err = time.ParseDuration([]string{a, b, c, d, e, g, h}[i]); err != nil {
			return f, err
		}
	}
	return f, nil
}

// rows compares the figures with the goals.
func (f figures) rows() []Row {
	return []Row{
		{"from a message in an embedded queue to the new desired count, in process, polls an hour apart",
			fmt.Sprintf("p99 <= %s", mostInProcess),
			fmt.Sprintf("p50 %s, p99 %s of %d", f.insideMedian, f.insideP99, f.inside), f.insideP99 <= mostInProcess},
		{"from a message and an event, by HTTP and the SDK, to the new size at the modelled AWS, polls an hour apart",
			fmt.Sprintf("p99 <= %s", mostOverHTTP),
			fmt.Sprintf("p50 %s, p99 %s of %d", f.overMedian, f.overP99, f.over), f.overP99 <= mostOverHTTP},
		{"the same for two further messages and events that follow within a second",
			fmt.Sprintf("p99 <= %s", mostOverHTTP),
			fmt.Sprintf("p50 %s, p99 %s of %d", f.burstMedian, f.burstP99, f.burst), f.burstP99 <= mostOverHTTP},
		{"the first of them beside a simulated alarm of CloudWatch, one datapoint of one minute, metrics a minute late",
			fmt.Sprintf(">= %d x faster", leastGain),
			fmt.Sprintf("%.0f x: the alarm takes %s, median of 60", f.gain, f.byAlarm), f.gain >= leastGain},
	}
}
