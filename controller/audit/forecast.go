package audit

import (
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/override"
)

// Forecast says what a request of an operator would change now.
type Forecast struct {
	// From is the desired count without it, To with it. Sentence is the decision with it, in words.
	From     int    `json:"from"`
	To       int    `json:"to"`
	Sentence string `json:"sentence"`
	// Launch and Stop are how many workers more or fewer that is. Of those that stop, StopIdle have no message now, and
	// StopBusy finish their messages first: idle workers stop first. Both are 0 where the fleet's own service chooses
	// which members end.
	Launch   int `json:"launch"`
	Stop     int `json:"stop"`
	StopIdle int `json:"stop_idle"`
	StopBusy int `json:"stop_busy"`
}

// ForecastOf computes what a request would change, if it came and began now, and how it would be answered. Nothing is
// changed: neither st nor the fleet.
func ForecastOf(s controller.Settings, st controller.State, now time.Time, in controller.Instructed) (Forecast,
	override.Answer) {
	in.At = now
	answer := s.Step(st, now, []controller.Input{in}).Answers[0]
	if in.Add.Begin.After(now) {
		in.Add.Begin = now // what comes later is compared with the present work
	}
	without, with := s.Step(st, now, nil), s.Step(st, now, []controller.Input{in})
	f := Forecast{From: without.Decision.Desired, To: with.Decision.Desired, Sentence: with.Decision.Sentence()}
	if in.Dismiss != "" {
		// The step of the request lowers the desired size; the one after it decides whether a worker is missing.
		f.To = s.Step(with.Next, now, nil).Decision.Desired
		return f.dismissing(without, with), answer
	}
	f.Launch, f.Stop = max(0, f.To-f.From), max(0, f.From-f.To)
	if !s.Unreported {
		c := without.Observation.Capacity
		f.StopIdle = min(f.Stop, c.Active()-c.Busy)
		f.StopBusy = f.Stop - f.StopIdle
	}
	return f, answer
}

// dismissing completes the forecast of a request that one member goes. Launch is 1 if another one replaces it.
func (f Forecast) dismissing(without, with controller.Outcome) Forecast {
	f.Stop = 1
	f.Launch = max(0, f.To-(f.From-f.Stop))
	f.StopBusy = max(0, min(f.Stop, without.Observation.Capacity.Busy-with.Observation.Capacity.Busy))
	f.StopIdle = f.Stop - f.StopBusy
	return f
}
