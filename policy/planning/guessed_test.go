package planning

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// A launch that comes early because few durations are known says so, and one that many durations explain does not.
func TestAGuessedTailIsSaid(t *testing.T) {
	for _, row := range []struct {
		name     string
		measured int64
		launches int
		says     bool
	}{
		{"three durations: launched after half of the objective", 3, 1, true},
		{"a thousand: it can wait", 1000, 0, false},
	} {
		o, _ := planned(600, 100*time.Hour, 10*time.Second)
		o.Processing.Count = row.measured
		o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, 1), InFlight: muster.Measured(o.At, 0),
			OldestAge: muster.Measured(o.At, (52 * time.Hour).Seconds())}}
		d := Deadline{}.Decide(o, nil)
		why := d.Trail[0].Why
		if d.Desired != row.launches || strings.Contains(why, "for few durations are measured (3)") != row.says {
			t.Errorf("%s: found the size %d: %s", row.name, d.Desired, why)
		}
	}
}
