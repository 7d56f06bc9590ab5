package lease_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/worker/lease"
)

func TestVisibility(t *testing.T) {
	hour := float64(3600)
	fresh := lease.Hold(at(0), 30*time.Second)
	near := lease.Hold(at(0), 30*time.Second).Extended(at(12*hour-40), 30*time.Second)
	tests := []struct {
		name                     string
		v                        lease.Visibility
		extendAt, lostAt, untilS float64
		to                       time.Duration
		gains                    bool
	}{
		{"a fresh hold is extended at half and lost five seconds before its end", fresh, 15, 25, 30, 30 * time.Second,
			true},
		{"an extension counts from when it was asked for", fresh.Extended(at(15), 30*time.Second), 30, 40, 45,
			30 * time.Second, true},
		{"a failed extension is tried again soon and moves nothing else", fresh.Failed(at(16)), 19, 25, 30,
			30 * time.Second, true},
		{"while nothing listens the next try comes soon", fresh.Away(at(16)), 16.25, 25, 30, 30 * time.Second, true},
		{"while nothing listens the hold outlives its timeout", fresh.Away(at(40)), 40.25, 42, 30, 30 * time.Second,
			true},
		{"a failure that proves nothing keeps it no longer, and is followed by a try soon",
			fresh.Away(at(40)).Failed(at(41)), 41.25, 42, 30, 30 * time.Second, true},
		{"an extension that succeeds makes it a hold like any other",
			fresh.Away(at(40)).Extended(at(41), 30*time.Second), 56, 66, 71, 30 * time.Second, true},
		{"a short hold has a short margin", lease.Hold(at(0), 6*time.Second), 3, 5, 6, 6 * time.Second, true},
		{"near the wall an extension is cut to what is left", near, 12*hour - 25, 12*hour - 15, 12*hour - 10,
			24 * time.Second, true},
		{"at the wall nothing is gained", near.Extended(at(12*hour-25), 24*time.Second), 12*hour - 13, 12*hour - 6,
			12*hour - 1, 12 * time.Second, false},
		{"a hold of twelve hours cannot be extended", lease.Hold(at(0), 12*time.Hour), 6 * hour, 12*hour - 5, 12 * hour,
			6*time.Hour - time.Second, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := test.v
			if !v.ExtendAt().Equal(at(test.extendAt)) || !v.LostAt().Equal(at(test.lostAt)) ||
				!v.Until().Equal(at(test.untilS)) {
				t.Errorf("extend at %s, lost at %s, until %s", v.ExtendAt(), v.LostAt(), v.Until())
			}
			if to, gains := v.ExtendTo(v.ExtendAt()); to != test.to || gains != test.gains {
				t.Errorf("extends to %s, %t; want %s, %t", to, gains, test.to, test.gains)
			}
		})
	}
}

func TestVisibilityIsLostBeforeItsEndAndNeverReachesTheWall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeout := time.Duration(rapid.IntRange(2, 12*3600).Draw(t, "timeout")) * time.Second
		v := lease.Hold(start, timeout)
		now, proof := start, time.Time{}
		for range rapid.IntRange(0, 50).Draw(t, "extensions") {
			now = v.ExtendAt().Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "late")) * time.Millisecond)
			to, gains := v.ExtendTo(now)
			if !gains {
				break
			}
			switch rapid.IntRange(0, 2).Draw(t, "the call") {
			case 0:
				v = v.Failed(now)
			case 1:
				v = v.Extended(now, to)
			case 2:
				if proof, v = now, v.Away(now); v.LostAt().Before(now.Add(time.Second)) ||
					!v.ExtendAt().Before(v.LostAt()) {
					t.Fatalf("at %s nothing listened: lost at %s, the next try at %s", now, v.LostAt(), v.ExtendAt())
				}
				continue
			}
			if now.Add(to).After(start.Add(lease.MaxHold)) {
				t.Fatalf("asks for %s at %s: beyond the wall, where the queue refuses", to, now.Sub(start))
			}
			if to%time.Second != 0 {
				t.Fatalf("asks for %s, whole seconds are allowed", to)
			}
			if v.LostAt().Equal(proof.Add(2 * time.Second)) {
				continue // nothing listened at the endpoint a moment ago
			}
			if !v.LostAt().Before(v.Until()) || v.Until().Sub(v.LostAt()) < timeout/6-1 &&
				v.Until().Sub(v.LostAt()) < 5*time.Second {
				t.Fatalf("lost at %s with the end at %s", v.LostAt(), v.Until())
			}
		}
	})
}

func TestBackoff(t *testing.T) {
	tests := []struct {
		name  string
		base  time.Duration
		count int
		want  time.Duration
	}{
		{"an unknown count is taken for the first", 30 * time.Second, 0, 30 * time.Second},
		{"the first failure waits the base", 30 * time.Second, 1, 30 * time.Second},
		{"each further one twice as long", 30 * time.Second, 4, 4 * time.Minute},
		{"the fifth still doubles", 30 * time.Second, 5, 8 * time.Minute},
		{"from the sixth on it is 15 minutes", 30 * time.Second, 6, 15 * time.Minute},
		{"however often it fails", 30 * time.Second, 1 << 40, 15 * time.Minute},
		{"another base scales all of it", time.Second, 9, 30 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := lease.Backoff(test.base, test.count); got != test.want {
				t.Errorf("hidden for %s, want %s", got, test.want)
			}
		})
	}
}

func TestGiveBack(t *testing.T) {
	v := lease.Hold(at(0), 30*time.Second)
	tests := []struct {
		name    string
		now     float64
		backoff time.Duration
		want    time.Duration
	}{
		{"the back-off as it is", 10, time.Minute, time.Minute},
		{"rounded up to whole seconds", 10, 1500 * time.Millisecond, 2 * time.Second},
		{"cut at the wall, where the queue would refuse it", 12*3600 - 60, 15 * time.Minute, 59 * time.Second},
		{"at once beyond the wall", 12*3600 + 60, 15 * time.Minute, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := v.GiveBack(at(test.now), test.backoff); got != test.want {
				t.Errorf("hidden for %s, want %s", got, test.want)
			}
		})
	}
}
