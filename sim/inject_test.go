package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/planning"
	"github.com/muster-scale/muster/sim/world"

	"github.com/muster-scale/muster"
)

// A check that never fails checks nothing. Each fault that is planted here must be found by what watches every run.
func TestPlantedFaultsAreFound(t *testing.T) {
	const within = 60 // seeds
	for _, x := range []struct {
		name   string
		inject inject
		world  func(*world.World)
		finds  string
	}{
		{"a lost measurement reads as zero", inject{nanIsZero: true}, func(w *world.World) { w.LoseSamples = 0.9 },
			"although nothing was measured"},
		{"an order given twice launches twice", inject{twice: true}, func(w *world.World) { w.LoseAnswers = 0.3 },
			"launched twice"},
		{"the history takes what anyone writes", inject{anyWriter: true},
			func(w *world.World) { w.ControllerCrashes = 30 },
			"two writers in one epoch"},
		{"something stops workers that looked idle", inject{outside: true}, func(*world.World) {}, "busy worker ended"},
	} {
		t.Run(x.name, func(t *testing.T) {
			for seed := uint64(1); seed <= within; seed++ {
				s := tell(t, seed)
				x.world(&s.World)
				e, err := s.told()
				if err != nil {
					t.Fatal(err)
				}
				if len(e.Faults) > 0 {
					t.Fatalf("seed %d: without the inject: %q", seed, e.Faults[0])
				}
				s.inject = x.inject
				if e, err = s.told(); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(strings.Join(e.Faults, "\n"), x.finds) {
					t.Logf("found at seed %d", seed)
					return
				}
			}
			t.Errorf("not found within %d seeds", within)
		})
	}
}

// forgetful launches a worker for every message, whatever is booting.
type forgetful struct{}

func (forgetful) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := planning.Exact{}.Decide(o, recent)
	add := max(0, int(o.Backlog().Value)-max(0, o.Capacity.Slots-int(o.InFlight().Value)))
	return d.With(muster.Term{Rule: "forgetful", Out: d.Previous + add})
}

// excess tells by how many workers a policy asks for more than there ever were messages at a time, in a world that
// shows the truth.
func (s story) excess(t *testing.T, p muster.Policy) (excess int) {
	s.World = world.World{Boot: world.Draw{Mean: 30 * time.Second}, Slots: 1, IdleStop: 20 * time.Second, Wakes: true,
		Tail: time.Minute}
	s.Settings.Limits = muster.Limits{Max: 400, LaunchesPerHour: 1_000_000}
	s.Settings = s.Settings.Deciding(bounded(p), 0)
	messages := 0
	s.Stepped = func(v View) {
		messages = max(messages, v.Backlog+v.InFlight)
		excess = max(excess, v.Outcome.Decision.Desired-messages)
	}
	if _, err := s.told(); err != nil {
		t.Fatal(err)
	}
	return excess
}

func TestExactNeverAsksForMoreWorkersThanThereAreMessages(t *testing.T) {
	found := false
	for seed := uint64(1); seed <= 40; seed++ {
		if n := tell(t, seed).excess(t, planning.Exact{}); n > 0 {
			t.Errorf("seed %d: %d workers too many", seed, n)
		}
		found = found || seed <= 10 && tell(t, seed).excess(t, forgetful{}) > 0
	}
	if !found {
		t.Error("a policy that forgets the launches under way was not found within 10 seeds")
	}
}
