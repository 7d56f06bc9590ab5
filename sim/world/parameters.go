package world

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parameter is a field of [World] as the command line names it: --world NAME=VALUE.
type Parameter struct {
	// Name is how it is written. Value is the kind of its value, such as DURATION. What explains it in one phrase,
	// which the help text and docs/simulation.md print.
	Name, Value, What string
	set               func(w *World, text string) error
}

// Parameters lists the parameters in the order of the documentation. A field of [World] without a parameter can be set
// in Go only.
func Parameters() []Parameter { return append(memberParameters(), queueParameters()...) }

// The kinds of values; [allowed] says each in words.
const share, rate, span, whole, number = "SHARE", "PER_HOUR", "DURATION", "COUNT", "NUMBER"

// memberParameters lists the parameters of members: how they boot, fail and are paid for.
func memberParameters() []Parameter {
	return []Parameter{
		{"boot", span, "mean time from a launch until the worker takes messages",
			spanOf(func(w *World) *time.Duration { return &w.Boot.Mean })},
		{"boot-cv", number, "variation of the boot time, lognormal",
			numberOf(func(w *World) *float64 { return &w.Boot.CV })},
		{"boot-samples", "DURATION|DURATION|...", "measured boot times to draw from",
			samplesOf(func(w *World) *Draw { return &w.Boot })},
		{"warm", whole, "warm pool instances, launched before others",
			wholeOf(func(w *World) *int { return &w.Warm.Size })},
		{"warm-boot", span, "boot time of members from the warm pool",
			spanOf(func(w *World) *time.Duration { return &w.Warm.Boot.Mean })},
		{"warm-refill", span, "time to replace a warm pool instance",
			spanOf(func(w *World) *time.Duration { return &w.Warm.Refill })},
		{"spot", share, "share of members that the cloud may take back",
			numberOf(func(w *World) *float64 { return &w.Spot.Share })},
		{"spot-rate", rate, "how often each of these is taken back",
			numberOf(func(w *World) *float64 { return &w.Spot.Interruptions })},
		{"spot-notice", span, "time from the notice to the end; 2m when 0s",
			spanOf(func(w *World) *time.Duration { return &w.Spot.Notice })},
		{"launch-fails", share, "share of launches that fail in their boot",
			numberOf(func(w *World) *float64 { return &w.LaunchFails })},
		{"refuse-launch", share, "share of orders that the cloud refuses",
			numberOf(func(w *World) *float64 { return &w.RefuseLaunch })},
		{"capacity", whole, "members that the cloud has room for; 0 is enough for all",
			wholeOf(func(w *World) *int { return &w.Capacity })},
		{"crashes", rate, "how often a member dies", numberOf(func(w *World) *float64 { return &w.Crashes })},
		{"exit", span, "time a worker takes to end", spanOf(func(w *World) *time.Duration { return &w.Exit })},
		{"handover", span, "time a worker takes after a message until it receives the next",
			spanOf(func(w *World) *time.Duration { return &w.Handover })},
		{"minimum-bill", span, "least time that a member is paid for",
			spanOf(func(w *World) *time.Duration { return &w.MinimumBill })},
		{"bill-step", span, "granularity of the bill", spanOf(func(w *World) *time.Duration { return &w.BillStep })},
		{"bill-margin", span, "how long before the end of a paid step an idle worker is ready to stop; 0s is never",
			spanOf(func(w *World) *time.Duration { return &w.BillMargin })},
		{"price", number, "price of a worker-hour; 1 when 0",
			numberOf(func(w *World) *float64 { return &w.PricePerHour })},
	}
}

// queueParameters lists the parameters of the queue, of what the controller reads and does, and of the run.
func queueParameters() []Parameter {
	return []Parameter{
		{"visibility", span, "visibility timeout of a received message; 30s when 0s",
			spanOf(func(w *World) *time.Duration { return &w.Visibility })},
		{"poison", share, "share of messages whose work always fails",
			numberOf(func(w *World) *float64 { return &w.Poison })},
		{"max-receives", whole, "attempts after which a failing message is a dead letter; 5 when 0",
			wholeOf(func(w *World) *int { return &w.MaxReceives })},
		{"retry-base", span, "first back-off of a failed message; 30s when 0s",
			spanOf(func(w *World) *time.Duration { return &w.RetryBase })},
		{"congestion", number, "work takes 1 + NUMBER x min(3, waiting / (10 x workers)) times as long",
			numberOf(func(w *World) *float64 { return &w.Congestion })},
		{"cores", whole, "cores that all members share, as processes of one machine do: with more messages in " +
			"progress each takes longer in proportion; 0 is enough for all",
			wholeOf(func(w *World) *int { return &w.Cores })},
		{"classes", "true|false", "workers report durations by the classes of the trace",
			truthOf(func(w *World) *bool { return &w.Classes })},
		{"random", "true|false", "hand messages to any waiting worker, as SQS does, and not to the one that waits " +
			"longest", truthOf(func(w *World) *bool { return &w.Random })},
		{"wakes", "true|false", "the queue wakes the controller when messages come",
			truthOf(func(w *World) *bool { return &w.Wakes })},
		{"wake-delay", span, "how long a wake takes", spanOf(func(w *World) *time.Duration { return &w.Wake })},
		{"lose-wakes", share, "share of wakes that are lost",
			numberOf(func(w *World) *float64 { return &w.LoseWakes })},
		{"metric-period", span, "interval at which counts change",
			spanOf(func(w *World) *time.Duration { return &w.MetricPeriod })},
		{"metric-delay", span, "delay with which counts are shown",
			spanOf(func(w *World) *time.Duration { return &w.MetricDelay })},
		{"stale", span, "age of the counts, which the source shows as present ones",
			spanOf(func(w *World) *time.Duration { return &w.Stale })},
		{"counts-only", "true|false", "the source knows counts only, as SQS does: no ages, and not how many were sent",
			truthOf(func(w *World) *bool { return &w.CountsOnly })},
		{"approximate", share, "largest relative error of counts",
			numberOf(func(w *World) *float64 { return &w.Approximate })},
		{"lose-samples", share, "share of measurements that fail",
			numberOf(func(w *World) *float64 { return &w.LoseSamples })},
		{"lose-listings", share, "share of fleet listings that fail",
			numberOf(func(w *World) *float64 { return &w.LoseListings })},
		{"trees", "true|false", "messages that have children are nodes of trees, which tell the controller how much " +
			"work is to come", truthOf(func(w *World) *bool { return &w.Trees })},
		{"lose-trees", share, "share of readings of the trees that fail",
			numberOf(func(w *World) *float64 { return &w.LoseTrees })},
		{"api", span, "time an order or a poll takes", spanOf(func(w *World) *time.Duration { return &w.API.Mean })},
		{"api-cv", number, "its variation", numberOf(func(w *World) *float64 { return &w.API.CV })},
		{"throttle", share, "share of orders refused as too many",
			numberOf(func(w *World) *float64 { return &w.Throttle })},
		{"lose-answers", share, "share of orders whose answer is lost; they are given again",
			numberOf(func(w *World) *float64 { return &w.LoseAnswers })},
		{"report", span, "time a worker's report takes",
			spanOf(func(w *World) *time.Duration { return &w.Report.Mean })},
		{"report-cv", number, "its variation", numberOf(func(w *World) *float64 { return &w.Report.CV })},
		{"report-every", span, "time between a worker's reports while nothing changes; 1s when 0s",
			spanOf(func(w *World) *time.Duration { return &w.ReportEvery })},
		{"lose-reports", share, "share of reports and answers that are lost",
			numberOf(func(w *World) *float64 { return &w.LoseReports })},
		{"repeat-reports", share, "share of reports that come twice",
			numberOf(func(w *World) *float64 { return &w.RepeatReports })},
		{"controller-crashes", rate, "how often the controller loses its memory",
			numberOf(func(w *World) *float64 { return &w.ControllerCrashes })},
		{"controller-down", span, "time until a new controller starts",
			spanOf(func(w *World) *time.Duration { return &w.ControllerDown })},
		{"idle", span, "how long a worker waits for a message until it is ready to stop",
			spanOf(func(w *World) *time.Duration { return &w.IdleStop })},
		{"faults-end", span, "when faults stop; 0s is never",
			spanOf(func(w *World) *time.Duration { return &w.FaultsEnd })},
		{"tail", span, "how long a run goes on after the last message for workers to stop; 30m when 0s",
			spanOf(func(w *World) *time.Duration { return &w.Tail })},
		{"start", "DATE", "the date of the trace's start, for policies that go by the calendar; " +
			"2026-01-05T00:00:00Z, a Monday, when not given", setStart},
	}
}

// Set sets the parameter of the given name in w from a text. It returns an error for an unknown name and for a text
// that is no such value; whether the value is possible is left to [World.Check].
func (w *World) Set(name, text string) error {
	all := Parameters()
	for _, p := range all {
		if p.Name == name {
			if err := p.set(w, text); err != nil {
				return fmt.Errorf("world parameter %s: found %q, allowed is %s", name, text, allowed(p.Value))
			}
			return nil
		}
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return fmt.Errorf("there is no world parameter %q; there are %s", name, strings.Join(names, ", "))
}

// allowed says in words what a value of a kind is, for error texts.
func allowed(kind string) string {
	switch kind {
	case "DURATION":
		return "a duration such as 30s"
	case "SHARE":
		return "a share from 0 to 1"
	case "PER_HOUR":
		return "how often an hour, such as 0.5"
	case "COUNT":
		return "a whole number"
	case "NUMBER":
		return "a number such as 0.5"
	case "DATE":
		return "a date such as 2026-01-05T00:00:00Z"
	}
	return kind
}

// spanOf returns a setter of a duration. The functions below do so for other types.
func spanOf(field func(*World) *time.Duration) func(*World, string) error {
	return func(w *World, text string) (err error) {
		*field(w), err = time.ParseDuration(text)
		return err
	}
}

func numberOf(field func(*World) *float64) func(*World, string) error {
	return func(w *World, text string) (err error) {
		*field(w), err = strconv.ParseFloat(text, 64)
		return err
	}
}

func wholeOf(field func(*World) *int) func(*World, string) error {
	return func(w *World, text string) (err error) {
		*field(w), err = strconv.Atoi(text)
		return err
	}
}

func truthOf(field func(*World) *bool) func(*World, string) error {
	return func(w *World, text string) (err error) {
		*field(w), err = strconv.ParseBool(text)
		return err
	}
}

// samplesOf returns a setter of measured durations, which are separated by |.
func samplesOf(field func(*World) *Draw) func(*World, string) error {
	return func(w *World, text string) error {
		for _, part := range strings.Split(text, "|") {
			d, err := time.ParseDuration(part)
			if err != nil {
				return err
			}
			field(w).Samples = append(field(w).Samples, d)
		}
		return nil
	}
}

func setStart(w *World, text string) (err error) {
	w.Start, err = time.Parse(time.RFC3339, text)
	return err
}
