// Package statistics measures a trace: how many messages arrive when, how long their work takes, and how both stand to
// a latency objective. [Measure] reads a trace once and returns its [Statistics]; the [Goal] says what the trace is
// held against.
//
// It knows a trace by what it yields: not how it was generated or in which file it is.
package statistics

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/trace"
)

// Maybe is a number that may be unknown. In JSON it is the number, or null.
type Maybe struct {
	// Known is false for what could not be told; Value then means nothing.
	Known bool
	// Value is finite.
	Value float64
}

// MarshalJSON writes the number, or null.
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

// Goal is what a trace is held against.
type Goal struct {
	// Objective has the latency, 0 for none, and the quantile, 0 for 0.99.
	Objective muster.Objective
	// Boot is the boot time of a worker, 0 for unknown; the slack ratio is with its quantile of the same order.
	Boot time.Duration
	// Slots is how many messages a worker handles at once, 0 for 1.
	Slots int
}

// Statistics is what a trace is like. Numbers are rounded to six significant digits; quantiles are off by at most 2 %
// (see [series.Accuracy]); services above 30 days count as 30 days in them.
type Statistics struct {
	// Name is the trace's.
	Name string `json:"name"`
	// Messages counts all messages, children included; Roots those without a parent. Depth is that of the deepest
	// child.
	Messages int64 `json:"messages"`
	Roots    int64 `json:"roots"`
	Depth    int   `json:"depth"`
	// Skipped counts what the file has and the trace does not, because it is incomplete.
	Skipped int64 `json:"skipped"`
	// DurationSeconds is from the start to the last arrival of a root.
	DurationSeconds float64 `json:"duration_seconds"`
	// RatePerSecond is that of the roots over the duration; unknown when all arrive at the start. PeakPerMinute is the
	// most roots that arrive in one minute, counted from the start.
	RatePerSecond Maybe `json:"rate_per_second"`
	PeakPerMinute int64 `json:"peak_per_minute"`
	// Dispersion is the variance over the mean of the roots that arrive in a minute: 1 for a Poisson process, 0 for
	// arrivals at equal distances. Only whole minutes count, and it is unknown with fewer than ten.
	Dispersion Maybe `json:"index_of_dispersion"`
	// Service is the time of the work, over all messages.
	Service Service `json:"service"`
	// Load is how many slots are busy in the mean if nobody waits: the work of all messages over the duration. Workers
	// is Load over the slots of a worker. Unknown as the rate is.
	Load    Maybe `json:"load"`
	Workers Maybe `json:"workers"`
	// Classes are the first 32 classes found, sorted by name; MoreClasses tells that there are others. A trace in which
	// no message has a class has none.
	Classes     []Class `json:"classes"`
	MoreClasses bool    `json:"more_classes"`
	// Groups counts the FIFO groups up to 65536; MoreGroups tells that there are more.
	Groups     int  `json:"groups"`
	MoreGroups bool `json:"more_groups"`
	// Arrivals is how many roots arrive when.
	Arrivals Histogram `json:"arrivals"`
	// Slack is how the trace stands to the goal; nil without an objective.
	Slack *Slack `json:"slack,omitzero"`
}

// Service is the distribution of the work of a message, in seconds.
type Service struct {
	// WorkSeconds is the sum.
	WorkSeconds float64 `json:"work_seconds"`
	MeanSeconds float64 `json:"mean_seconds"`
	P50Seconds  float64 `json:"p50_seconds"`
	P95Seconds  float64 `json:"p95_seconds"`
	P99Seconds  float64 `json:"p99_seconds"`
	MaxSeconds  float64 `json:"max_seconds"`
	// CV is the standard deviation over the mean; unknown when there is no work.
	CV Maybe `json:"cv"`
}

// Class is one class of messages; the class of messages that have none is empty.
type Class struct {
	Name        string  `json:"name"`
	Messages    int64   `json:"messages"`
	MeanSeconds float64 `json:"mean_seconds"`
}

// Histogram counts arrivals in stretches of equal length, from the start of the trace on.
type Histogram struct {
	// WidthSeconds is the length of a stretch: a power of two of seconds.
	WidthSeconds int64 `json:"width_seconds"`
	// Counts has at most 128 numbers; the last is not 0.
	Counts []int64 `json:"counts"`
}

// Slack is how much time the objective leaves for a worker to be launched.
type Slack struct {
	ObjectiveSeconds float64 `json:"objective_seconds"`
	Quantile         float64 `json:"quantile"`
	BootSeconds      float64 `json:"boot_seconds"`
	Slots            int     `json:"slots"`
	// Longer is the share of messages whose own work takes longer than the objective: no policy has more than the rest
	// in time.
	Longer float64 `json:"longer"`
	// Ratio is (L - s - b)/b with the latency L, the quantile s of the service and the boot time b. Above 0 a worker
	// that is launched when a message finds no free slot comes in time; from 0 down it does not. Unknown without a boot
	// time.
	Ratio Maybe `json:"ratio"`
}

// Measure reads t once and tells what it is like and how it stands to the goal. Memory is bounded whatever the size of
// t. Messages that break the rules of a trace are an error.
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

// skipper is a reader that passes over what is incomplete.
type skipper interface{ Skipped() int64 }
