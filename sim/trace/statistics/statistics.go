// Package statistics measures what a trace is like: how many messages arrive when, how long their work takes, and how
// both compare with a latency objective.
//
//	s, err := statistics.Measure(t, statistics.Goal{Objective: objective, Boot: time.Minute, Slots: 1})
//	fmt.Println(s.Messages, s.Load, s.Slack.Ratio)
//
// [Measure] reads a trace once, in bounded memory, and returns its [Statistics]. The [Goal] says what it is compared
// with. Numbers that cannot be told are a [Maybe], never 0.
//
// The package knows messages only, and not how a trace was generated or stored. To bound what a policy must pay on the
// trace, use package sim/limit; package sim/tables prints statistics.
package statistics

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/trace"
)

// Maybe is a number that can be unknown. In JSON it is the number or null.
type Maybe struct {
	// Known is false for an unknown number; Value has no meaning then.
	Known bool
	// Value is finite.
	Value float64
}

// MarshalJSON writes the number, or null when it is unknown.
func (m Maybe) MarshalJSON() ([]byte, error) {
	if !m.Known {
		return []byte("null"), nil
	}
	return json.Marshal(m.Value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Maybe) UnmarshalJSON(text []byte) error {
	*m = Maybe{}
	if string(text) == "null" {
		return nil
	}
	m.Known = true
	return json.Unmarshal(text, &m.Value)
}

// Goal is what a trace is compared with.
type Goal struct {
	// Objective has the latency, where 0 is none, and the quantile, where 0 stands for 0.99.
	Objective muster.Objective
	// Boot is the boot time of a worker, 0 for unknown.
	Boot time.Duration
	// Slots is how many messages a worker handles at once; 0 stands for 1.
	Slots int
}

// Statistics says what a trace is like. Numbers have six significant digits. Quantiles are off by at most 2 % (see
// [series.Accuracy]), and in them services above 30 days count as 30 days.
type Statistics struct {
	// Name is the name of the trace.
	Name string `json:"name"`
	// Messages counts all messages, children included, and Roots those without a parent. Depth is the depth of the
	// deepest child.
	Messages int64 `json:"messages"`
	Roots    int64 `json:"roots"`
	Depth    int   `json:"depth"`
	// Skipped counts the entries of the file that are incomplete and so not in the trace.
	Skipped int64 `json:"skipped"`
	// DurationSeconds is the time from the start to the last arrival of a root.
	DurationSeconds float64 `json:"duration_seconds"`
	// RatePerSecond is the number of roots over the duration; unknown when all arrive at the start. PeakPerMinute is
	// the most roots that arrive within one minute, counted from the start.
	RatePerSecond Maybe `json:"rate_per_second"`
	PeakPerMinute int64 `json:"peak_per_minute"`
	// Dispersion is the variance over the mean of the number of roots that arrive in a minute: 1 for a Poisson process,
	// 0 for equal distances. Only whole minutes count, and it is unknown with fewer than ten.
	Dispersion Maybe `json:"index_of_dispersion"`
	// Service describes the duration of the work, over all messages.
	Service Service `json:"service"`
	// Load is the mean number of busy slots if no message waits: the work of all messages over the duration. Workers is
	// Load over the slots of a worker. Both are unknown when the rate is.
	Load    Maybe `json:"load"`
	Workers Maybe `json:"workers"`
	// Classes has the first 32 classes that were found, sorted by name, and MoreClasses tells that there are others. It
	// is empty for a trace in which no message has a class.
	Classes     []Class `json:"classes"`
	MoreClasses bool    `json:"more_classes"`
	// Groups counts the FIFO groups, up to 65536; MoreGroups tells that there are more.
	Groups     int  `json:"groups"`
	MoreGroups bool `json:"more_groups"`
	// Arrivals shows when roots arrive.
	Arrivals Histogram `json:"arrivals"`
	// Slack compares the trace with the goal; nil without an objective.
	Slack *Slack `json:"slack,omitzero"`
}

// Service describes the distribution of the work of a message, in seconds.
type Service struct {
	// WorkSeconds is the sum over all messages.
	WorkSeconds float64 `json:"work_seconds"`
	MeanSeconds float64 `json:"mean_seconds"`
	P50Seconds  float64 `json:"p50_seconds"`
	P95Seconds  float64 `json:"p95_seconds"`
	P99Seconds  float64 `json:"p99_seconds"`
	MaxSeconds  float64 `json:"max_seconds"`
	// CV is the coefficient of variation: the standard deviation over the mean. It is unknown when there is no work.
	CV Maybe `json:"cv"`
}

// Class describes one class of messages. Its name is empty for messages without a class.
type Class struct {
	Name        string  `json:"name"`
	Messages    int64   `json:"messages"`
	MeanSeconds float64 `json:"mean_seconds"`
}

// Histogram counts arrivals in intervals of equal length, from the start of the trace on.
type Histogram struct {
	// WidthSeconds is the length of an interval: a power of two.
	WidthSeconds int64 `json:"width_seconds"`
	// Counts has at most 128 numbers, of which the last is not 0.
	Counts []int64 `json:"counts"`
}

// Slack says how much time the objective leaves to launch a worker.
type Slack struct {
	ObjectiveSeconds float64 `json:"objective_seconds"`
	Quantile         float64 `json:"quantile"`
	BootSeconds      float64 `json:"boot_seconds"`
	Slots            int     `json:"slots"`
	// Longer is the share of messages whose own work takes longer than the objective. No policy can have these in time.
	Longer float64 `json:"longer"`
	// Ratio is (L - s - b) / b with the latency L, the quantile s of the service and the boot time b. Above 0 a worker
	// that is launched for a message which finds no free slot is ready in time; at or below 0 it is not. It is unknown
	// without a boot time.
	Ratio Maybe `json:"ratio"`
}

// Measure reads t once and returns what it is like and how it compares with the goal. Memory is bounded, however large
// t is. A message that breaks the rules of a trace is an error.
func Measure(t trace.Trace, goal Goal) (Statistics, error) {
	m := &measured{classes: map[string]*class{}, groups: map[string]struct{}{}, bins: Histogram{WidthSeconds: 1},
		objective: goal.Objective.Latency}
	var opened trace.Reader
	watched := trace.Trace{Open: func() (r trace.Reader, err error) {
		r, err = t.Open()
		opened = r
		return r, err
	}}
	var broken error
	err := watched.Each(func(message trace.Message) bool {
		if broken = m.order.Check(message); broken != nil {
			broken = fmt.Errorf("trace %s: message %d: %w", t.Name, m.order.Messages()+1, broken)
			return false
		}
		m.arrival(message.Arrival)
		m.message(message, 0)
		return true
	})
	if err == nil && broken == nil && m.order.Messages() == 0 {
		broken = fmt.Errorf("trace %s: %w", t.Name, trace.ErrEmpty)
	}
	if err = cmp.Or(err, broken); err != nil {
		return Statistics{}, err
	}
	s := m.statistics(goal)
	s.Name = t.Name
	if skips, ok := opened.(skipper); ok {
		s.Skipped = skips.Skipped()
	}
	return s, nil
}

// skipper is a reader that skips incomplete entries.
type skipper interface{ Skipped() int64 }
