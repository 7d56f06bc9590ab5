package policy_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// 48 messages wait, four workers serve them, and a message takes 50 s on average. All shall be done within five
// minutes.
func ExampleNew() {
	p, err := policy.New(policy.Spec{Name: "dynamic-backlog", HeadroomWorkers: 1})
	if err != nil {
		log.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := p.Decide(muster.Observation{
		Fleet: "reports", At: now,
		Objective: muster.Objective{Latency: 5 * time.Minute, Quantile: 0.99},
		Limits:    muster.Limits{Max: 20, LaunchesPerHour: 100},
		Queues: []muster.QueueObservation{
			{Queue: "reports", Backlog: muster.Measured(now, 48), InFlight: muster.Measured(now, 4)},
		},
		Capacity:   muster.Capacity{Known: true, Desired: 4, Busy: 4, Slots: 4, BusySlots: 4, SlotsPerWorker: 1},
		Processing: muster.Estimate{Known: true, Count: 200, MeanSeconds: 50},
	}, nil)
	fmt.Println(d.Desired)
	fmt.Println(strings.ReplaceAll(d.Sentence(), "; ", ";\n"))
	// Output:
	// 9
	// up from 4 to 9: 48 waiting, 6 acceptable per worker (5m0s / 50s mean processing), so 8 workers;
	// 1 worker kept warm above the 8 needed
}
