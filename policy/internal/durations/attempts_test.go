package durations_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
)

// failing is an observation in which so many attempts failed that took so many seconds each, and so many messages
// finished that took ten. Of the past hour's messages such a share was in time, of the asked 99 %.
func failing(failed, seconds, finished, inTime float64) muster.Observation {
	at := time.Unix(1_700_000_000, 0)
	return muster.Observation{
		At: at, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Processing: muster.Estimate{Known: true, Count: 100, MeanSeconds: 10},
		Progress: &muster.Progress{Failed: failed, Finished: finished, InTime: muster.Measured(at, inTime),
			Failing: muster.Estimate{Known: failed > 0, MeanSeconds: seconds}},
	}
}

func TestFailingAttemptsAreAPartOfTheWork(t *testing.T) {
	unmeasured := failing(30, 10, 90, 1)
	unmeasured.Processing = muster.Estimate{}
	for _, row := range []struct {
		name string
		o    muster.Observation
		want float64
	}{
		{"nothing fails", failing(0, 0, 90, 1), 1},
		{"a third as many fail as finish, and take as long", failing(30, 10, 90, 1), 1 + 1.0/3},
		{"they fail at once", failing(30, 0, 90, 1), 1},
		{"they fail after 15 s", failing(30, 15, 90, 1), 1.5},
		{"they time out after a minute, which is too much to conclude", failing(30, 60, 90, 1), 2},
		{"more fail than finish: each message may still succeed once", failing(90, 10, 10, 1), 2},
		{"nothing has finished", failing(10, 10, 0, 1), 2},
		{"nine attempts are too few", failing(9, 10, 0, 1), 1},
		{"how long the work takes is unknown", unmeasured, 1},
		{"nobody says what failed", muster.Observation{Processing: unmeasured.Processing}, 1},
	} {
		if found := durations.Attempts(row.o); found != row.want {
			t.Errorf("%s: found %v, want %v", row.name, found, row.want)
		}
	}
	w := durations.Work{Mean: 10, FinishedMean: 8, LongTermMean: 9, Tail: 15, LongTermTail: 30, Longest: 40}
	want := durations.Work{Mean: 20, FinishedMean: 16, LongTermMean: 18, Tail: 20, LongTermTail: 30, Longest: 40}
	if found := w.Times(2); found != want {
		t.Errorf("twice %+v is %+v, want %+v", w, found, want)
	}
}

func TestAFleetIsBehindWhileMoreWereLateThanFailed(t *testing.T) {
	unknown := failing(0, 0, 90, 0)
	unknown.Progress.InTime = muster.Unknown(unknown.At, "nothing ended")
	for _, row := range []struct {
		name string
		o    muster.Observation
		want bool
	}{
		{"as many are in time as asked", failing(0, 0, 90, 0.99), false},
		{"two in a hundred are late", failing(0, 0, 90, 0.98), true},
		{"a tenth is late, and as many fail", failing(10, 10, 90, 0.9), false},
		{"a fifth is late, and a tenth fails", failing(10, 10, 90, 0.8), true},
		{"nothing has ended", unknown, false},
		{"nobody counts late messages", muster.Observation{}, false},
	} {
		if found := durations.Behind(row.o); found != row.want {
			t.Errorf("%s: found %v, want %v", row.name, found, row.want)
		}
	}
}
