package planning

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// full is a fleet of 16 workers that finish 158 messages of 0.1 s a second. 40 a second came, as far as counts know
// that are 40 s old. The objective is ten seconds, and a boot takes two.
func full(backlog float64) muster.Observation {
	o := s0(0.1, backlog)
	o.Objective.Latency, o.Boot, o.Limits.Max = 10*time.Second, stated(2), 1000
	o.Processing = lasting(0.1, 10_000)
	o.Capacity = muster.Capacity{Known: true, Desired: 16, Busy: 16, BusySlots: 9, Slots: 16, SlotsPerWorker: 1}
	o.Arrivals = steadily(40)
	o.Queues[0].Backlog, o.Queues[0].LateSeconds = muster.Measured(o.At, backlog), 40
	o.Waiting = []muster.Waiting{{AgeSeconds: 1, Messages: backlog}}
	o.Pace = muster.Pace{Finished: 5000, Seconds: 500, LatelyPerSecond: 158, LatelySlots: 15.8}
	o.FinishedSince = 3000
	return o
}

func TestFullWorkersAreDoubledWhereCountsAreOld(t *testing.T) {
	for _, row := range []struct {
		name    string
		backlog float64
		change  func(o *muster.Observation)
		want    int
		says    string
	}{
		{"counts show nothing", 0, nil, 32,
			"32 stay because they finish more than the counts explain, which may be 40s old"},
		{"counts show a few", 100, nil, 32, "all 16 workers are busy without a pause, and they finish more than the " +
			"counts explain, which may be 40s old: more may have come; launching 16 now"},
		{"the others are on their way", 0, func(o *muster.Observation) {
			o.Capacity.Desired, o.Capacity.Booting = 32, 16
			o.Coming = []muster.Coming{{AgeSeconds: 1, Members: 16}}
		}, 32, "they finish more than the counts explain"},
		{"the objective leaves time to launch", 0, func(o *muster.Observation) {
			o.Objective.Latency = time.Hour
		}, 16, "nothing waits; 16 workers are busy"},
	} {
		o := full(row.backlog)
		if row.change != nil {
			row.change(&o)
		}
		d := Deadline{}.Decide(o, nil)
		if d.Desired != row.want {
			t.Errorf("%s: %d workers, want %d: %s", row.name, d.Desired, row.want, d.Sentence())
		}
		if trail := fmt.Sprint(d.Trail[0].In); strings.Contains(trail, "saturated") != (row.want == 32) {
			t.Errorf("%s: the trail has %s", row.name, trail)
		}
		if !strings.Contains(d.Sentence(), row.says) {
			t.Errorf("%s: %q does not say %q", row.name, d.Sentence(), row.says)
		}
	}
}
