package work

import (
	"cmp"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
)

// Take fills the settings from the keys of a configuration. Zero values stay zero where the worker has its own default.
// Errors are about the request.
func (s *Settings) Take(w config.Workers) error {
	if err := s.Log.UnmarshalText([]byte(cmp.Or(w.Log, "warn"))); err != nil {
		return misuse.Errorf("--log: found %q, allowed is debug, info, warn or error", w.Log)
	}
	o, e := &s.Options, &s.Execution
	o.Slots, o.Batch, o.MaxAttempts = w.Slots, w.Batch, w.MaxAttempts
	o.IdleStop, o.Visibility, o.Grace, o.WarmUp = w.Idle, w.Visibility, w.Grace, w.WarmUp
	o.TimeLimit, o.ClassAttribute, o.RetryBase = w.TimeLimit, w.ClassAttribute, w.Retry
	o.Billing.Period, o.Billing.Margin, o.Billing.Start = w.BillingPeriod, w.BillingMargin, w.BillingStart
	e.Command.Argv, e.Command.Env = w.Command, w.Env
	e.Lines, e.HTTP, e.StartLimit = w.JSONLines, w.HTTP, w.StartLimit
	s.Placement.Hook, s.Placement.Group = w.LifecycleHook, w.Group
	s.Reporting.To, s.Reporting.Every = w.Report, cmp.Or(w.ReportEvery, time.Minute)
	return nil
}

// TakeStarted fills the settings from the environment that a fleet gives a worker it starts, and removes them from
// there. ok is false when no fleet started it. Such a worker does not protect its machine: workers share it, and the
// first idle one would lift the protection.
func (s *Settings) TakeStarted(lookup func(string) (string, bool), unset func(string) error) (ok bool, err error) {
	// It is removed below: programs of the worker need not see it.
	text, ok := lookup(app.WorkVariable)
	if !ok {
		return false, nil
	}
	told, err := app.ReadStarted(text)
	if err != nil {
		return true, misuse.Errorf("read the worker's settings from %s: %w", app.WorkVariable, err)
	}
	if err := s.Take(told.Workers); err != nil {
		return true, err
	}
	s.Queues, s.Execution.DeadLetter, s.Execution.Data = told.Queues, told.DeadLetter, told.Data
	s.Placement.Protection = "none"
	return true, unset(app.WorkVariable)
}
