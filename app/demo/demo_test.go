package demo

import (
	"strings"
	"testing"

	"github.com/muster-scale/muster/policy"
)

func TestTheAgeBarDrawsEveryAge(t *testing.T) {
	for seconds, want := range map[float64]string{
		-0.4: "[...............] 0.0s", // sent after the tick that is drawn
		0:    "[...............] 0.0s",
		7.5:  "[#######........] 7.5s",
		15:   "[###############] 15.0s",
		99:   "[!!!!!!!!!!!!!!!] 99.0s, late",
	} {
		if got := ageBar(seconds); got != want {
			t.Errorf("an age of %v s is drawn %s, want %s", seconds, got, want)
		}
	}
}

func TestEachDemoRunHasAQueueAndAFleetOfItsOwn(t *testing.T) {
	c, runs := Config(t.TempDir(), "muster")
	queues, fleets := map[string]bool{}, map[string]bool{}
	seen := map[string]bool{}
	for _, r := range runs {
		queues[r.Queue()], fleets[r.Fleet.Name] = true, true
		seen[r.Test.Name+" "+r.Fleet.Policy.Name] = true
		if _, err := policy.New(r.Fleet.Policy); err != nil {
			t.Error(err)
		}
		if len(r.Queue()) > 16+len("test-1-") || strings.Contains(r.Queue(), ".") {
			t.Errorf("the queue %s has no room in the table", r.Queue())
		}
	}
	if len(runs) != 6 || len(c.Fleets) != 6 || len(queues) != 6 || len(fleets) != 6 || len(seen) != 6 {
		t.Errorf("found %d runs, %d fleets on %d queues: %v; want 3 policies on 2 tests, all apart", len(runs),
			len(fleets), len(queues), seen)
	}
}
