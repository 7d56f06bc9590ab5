package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/server"
)

// A fleet whose work fails says so, whatever its backlog is; what is unknown is a question mark and no zero.
func TestStatusSaysHowTheWorkGoes(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	n := func(v float64) muster.Sample { return muster.Measured(now, v) }
	seen := func(p *muster.Progress) muster.Observation {
		q := muster.QueueObservation{Queue: "jobs", Backlog: n(0), InFlight: n(501), OldestAge: n(0)}
		return muster.Observation{
			At: now, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
			Queues:   []muster.QueueObservation{q},
			Capacity: muster.Capacity{Known: true, Idle: 1}, Progress: p,
		}
	}
	failing := &muster.Progress{
		Working: n(1), Retrying: n(500), OldestRetry: n(900), DeadLetters: n(12), Late: n(500), InTime: n(0.0004),
		Ended: 512, Failed: 76.2,
		Failing: muster.Estimate{Known: true, MeanSeconds: 0.25}, LastError: "exit status 1",
		LastErrorAt: now.Add(-3 * time.Second),
	}
	hangs := &muster.Progress{
		Working: n(1), Retrying: n(0), OldestRetry: n(0), Late: n(1), InTime: n(0.9), Ended: 10,
		Held: 1, HeldLongest: 3600, HeldBy: "jobs.1.4.1",
	}
	well := &muster.Progress{Working: n(501), Retrying: n(0), OldestRetry: n(0), DeadLetters: n(0), Late: n(0),
		InTime: n(1), Ended: 5000}
	for _, row := range []struct {
		name, logged string
		see          muster.Observation
		has, hasNot  []string
	}{
		{"it fails", "", seen(failing), []string{
			"jobs   0        1        500       15m0s   1m0s       <0.1%",
			"work: 500 waiting for retry, the oldest sent 15m0s ago, 500 late, 76 attempts failed in the last 5 " +
				"minutes (250ms each), 12 dead letters, <0.1% of 512 in time in the last hour\n",
			"last error 3s ago, at ", ": exit status 1\n",
		}, nil},
		{"it hangs", "", seen(hangs), []string{
			"work: 1 late, 1 message in progress has taken longer than the objective, 1h0m0s so far at jobs.1.4.1, ",
		}, nil},
		{"its log says what failed", "76 attempts failed", seen(failing),
			[]string{"work: 500 waiting for retry", "  76 attempts failed\n"}, []string{"last error", "250ms"}},
		{"all is well", "", seen(well), []string{"jobs   0        501      0         0s      1m0s       100%"},
			[]string{"work:", "last error"}},
		{"it is not known", "", seen(&muster.Progress{Retrying: muster.Unknown(now, "nobody tells")}),
			[]string{"jobs   0        <=501    ?         0s      1m0s       ?"}, []string{"work:"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			s := server.Status{At: now, Fleets: []server.FleetStatus{{Name: "jobs", Ready: true, Observation: row.see}}}
			if err := Print(&out, s, func(string) string { return row.logged }); err != nil {
				t.Fatal(err)
			}
			for _, text := range row.has {
				if !strings.Contains(out.String(), text) {
					t.Errorf("it does not say %q:\n%s", text, out.String())
				}
			}
			for _, text := range row.hasNot {
				if strings.Contains(out.String(), text) {
					t.Errorf("it says %q:\n%s", text, out.String())
				}
			}
		})
	}
}

func TestAShareIsNeverRoundedToAllOrNothing(t *testing.T) {
	for v, want := range map[float64]string{0: "0%", 0.0001: "<0.1%", 0.5: "50%", 0.9876: "98.8%", 0.99999: ">99.9%",
		1: "100%"} {
		if got := shareInTime(muster.Measured(time.Now(), v)); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
