package sim

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/world"
)

// The simulator feeds the controller what a queue and workers tell of failed messages, so that a policy sees in a world
// what it sees in production: exactly where the queue knows it, and from the reports of the workers where it tells
// counts alone.
func TestAPoisonedWorldShowsWhatWaitsForARetry(t *testing.T) {
	for name, countsOnly := range map[string]bool{"a queue that tells": false, "counts alone": true} {
		t.Run(name, func(t *testing.T) {
			most, failed, late, known, wrong := 0.0, 0.0, 0.0, 0, 0
			res, err := Run(Options{
				Settings: fleet(t, policy.Spec{Name: "deadline", Processing: time.Second}, 30*time.Second, 1, 10),
				Seed:     1,
				World: world.World{
					Poison: 1, MaxReceives: 4, RetryBase: 20 * time.Second, Visibility: 30 * time.Second,
					Boot:       world.Draw{Mean: 2 * time.Second},
					CountsOnly: countsOnly, Tail: time.Minute,
				},
				Trace: batch(20, time.Minute, time.Second),
				Stepped: func(v View) {
					p := v.Outcome.Observation.Progress.Value()
					if p.Retrying.Known {
						known++
					}
					if p.Retrying.Value > float64(v.InFlight) {
						wrong++
					}
					most, failed, late = math.Max(most, p.Retrying.Value), math.Max(failed, p.Failed), math.Max(late,
						p.Late.Value)
					if o := v.Outcome.Observation; o.Processing.Known && !o.Processing.Prior {
						t.Fatalf("at %s the processing duration is %+v, although no message was ever finished", v.At,
							o.Processing)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if res.Dead != 20 || most < 10 || known == 0 || failed < 10 || late < 1 {
				t.Errorf("%d dead letters; at most %v waiting for a retry, %v attempts failed within five minutes, "+
					"%v late", res.Dead, most, failed, late)
			}
			if !countsOnly && wrong > 0 {
				t.Errorf("%d times more waited for a retry than was in flight", wrong)
			}
		})
	}
}
