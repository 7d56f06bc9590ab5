package awsapi_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/internal/awsapi"
)

func TestLooksAreFastWhileSomethingChangesAndRareWhenNothingDoes(t *testing.T) {
	var p awsapi.Pace
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	looks := func(over time.Duration, changes bool) (n int) {
		for end := now.Add(over); now.Before(end); now = now.Add(time.Second) {
			if p.Due(now) {
				p.Looked(now, changes)
				n++
			}
		}
		return n
	}
	if n := looks(time.Minute, true); n != 12 {
		t.Errorf("%d looks in a minute of changes, want one every 5 s", n)
	}
	looks(2*time.Minute, false)
	if n := looks(10*time.Minute, false); n < 19 || n > 21 {
		t.Errorf("%d looks in ten minutes without a change, want one every 30 s", n)
	}
	p.Expect()
	if !p.Due(now) {
		t.Error("no look is due although something is expected")
	}
	p.Looked(now, false)
	p.Within(now, time.Second)
	if p.Due(now) || !p.Due(now.Add(time.Second)) {
		t.Error("the second look is not due one second after the first")
	}
}

func TestNoLookIsPutOffForLongerThanTheSlowRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p awsapi.Pace
		now := time.Unix(1_700_000_000, 0)
		for _, what := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 40).Draw(t, "what happens") {
			now = now.Add(time.Duration(rapid.IntRange(-100_000, 100_000).Draw(t,
				"ms")) * time.Millisecond) // clocks are set back, too
			switch what {
			case 0, 1:
				p.Looked(now, what == 1)
			case 2:
				p.Failed(now)
			case 3:
				p.Within(now, time.Second)
			case 4:
				p.Expect()
			}
		}
		if !p.Due(now.Add(awsapi.Slow)) {
			t.Fatal("not due after the slowest wait")
		}
	})
}
