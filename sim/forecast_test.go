package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// days is what a run of several days came to with or without a forecast.
type days struct {
	scoring.Result
	// rise is the share in time of what was sent within ten minutes of the last morning.
	rise float64
	// used is the share of polls after two days at which the forecast was used; said is what it said last.
	used float64
	said string
}

// lived runs a trace under an objective that leaves no time to boot.
func lived(t *testing.T, name, forecast string, morning time.Duration) days {
	t.Helper()
	tr, err := trace.Load(name, trace.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: policy.Spec{Name: "deadline", Processing: 5 * time.Second,
			Forecast: forecast},
		Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits:    muster.Limits{Max: 100, LaunchesPerHour: 10_000},
		Poll:      5 * time.Second, BootPrior: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	var d days
	sent, late, polls, used := 0.0, 0.0, 0.0, 0.0
	d.Result = ran(t, Options{
		Settings: s, Trace: tr, Seed: 1, World: world.World{Boot: world.Draw{Mean: time.Minute}},
		Finished: func(at, finished time.Duration) {
			if at >= morning && at < morning+10*time.Minute {
				sent++
				if finished-at > s.Objective.Latency {
					late++
				}
			}
		},
		Stepped: func(v View) {
			if v.At < 49*time.Hour {
				return
			}
			polls++
			if v.Outcome.Observation.Forecast.Used {
				used++
			}
			trail := v.Outcome.Decision.Trail
			if i := slices.IndexFunc(trail, func(t muster.Term) bool { return t.Rule == "forecast" }); i >= 0 {
				d.said = trail[i].Why
			}
		},
	})
	d.rise, d.used = 1-late/max(1, sent), used/max(1, polls)
	return d
}

func TestAForecastLaunchesBeforeTheMorningAndLetsGoInTheEvening(t *testing.T) {
	const name, morning = "workday:rate=0.02,to=0.4,duration=66h", 57 * time.Hour
	with, without := lived(t, name, policy.ForecastSeasonal, morning), lived(t, name, "", morning)
	t.Logf("in time with a forecast %.2f %% of a morning and %.2f %% in all, without %.2f %% and %.2f %%; "+
		"worker-seconds %.0f and %.0f", 100*with.rise, 100*with.InTimeRatio,
		100*without.rise, 100*without.InTimeRatio, with.WorkerSeconds, without.WorkerSeconds)
	if with.used < 0.9 || without.said != "" {
		t.Errorf("the forecast was used for %.2f of the polls after two days (%s); without one the trail says %q",
			with.used, with.said, without.said)
	}
	if with.rise < 0.97 || with.rise < without.rise+0.05 || with.InTimeRatio < without.InTimeRatio {
		t.Errorf("in time with a forecast %.4f of a morning and %.4f in all, without %.4f and %.4f; want at least "+
			"0.97, and 0.05 more", with.rise, with.InTimeRatio, without.rise, without.InTimeRatio)
	}
	if with.WorkerSeconds > without.WorkerSeconds {
		t.Errorf("%.0f worker-seconds with a forecast, %.0f without: what is launched ahead should be less than what "+
			"is stopped earlier", with.WorkerSeconds, without.WorkerSeconds)
	}
}

// Busy times that come at any time of day say nothing of other days.
func TestAForecastThatDoesNotBeatReactingChangesNothing(t *testing.T) {
	const name = "mmpp:rate=0.01,to=0.15,quiet=2h,busy=90m,service=5s,duration=52h"
	with, without := lived(t, name, policy.ForecastSeasonal, 0), lived(t, name, "", 0)
	if with.used > 0 || with.said == "" {
		t.Errorf("it was used for %.2f of the polls; it says %q", with.used, with.said)
	}
	if with.WorkerSeconds != without.WorkerSeconds || with.InTime != without.InTime ||
		with.Launches != without.Launches {
		t.Errorf("with a forecast that is not used %.0f worker-seconds, %d in time, %d launches; without one %.0f, "+
			"%d, %d", with.WorkerSeconds, with.InTime, with.Launches,
			without.WorkerSeconds, without.InTime, without.Launches)
	}
}
