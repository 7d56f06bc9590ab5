// Package settings makes of a configured fleet the settings of its controller. Production and every simulation of a
// configured fleet use this one function, so a simulated fleet decides as the real one would.
package settings

import (
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
)

// Of returns the controller's settings for a fleet. slow is the longest time that one call to the service of a remote
// fleet may take: three of them make its readings stale.
func Of(f config.Fleet, slow time.Duration) (controller.Settings, error) {
	facts := f.Facts()
	s := controller.Settings{
		Fleet: f.Name, Spec: f.Policy, Objective: f.Objective, Limits: f.Limits,
		Slots: f.Workers.AtOnce(), BootPrior: f.Workers.Boot, Poll: f.Poll,
		Unreported: !facts.Reported, Protect: facts.Protected && f.Sizer == nil,
	}
	for _, q := range f.Queues {
		s.Queues = append(s.Queues, q.Name)
	}
	if len(f.Signals) > 0 && len(s.Queues) == 0 {
		s.Queues = []string{f.Name} // a signal has no queue name
	}
	if f.Remote() {
		s.Stale = 3 * max(slow, f.Poll)
	}
	if f.Sizer != nil {
		s.HandEvery = f.Sizer.Every()
	}
	return controller.NewSettings(s)
}
