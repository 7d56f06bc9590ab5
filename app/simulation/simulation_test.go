package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/world"
)

func TestStatedDurations(t *testing.T) {
	for _, row := range []struct {
		processing string
		prior      time.Duration
		mean       bool
		refused    string
	}{
		{"none", 0, false, ""},
		{"mean", 0, true, ""},
		{"12s", 12 * time.Second, false, ""},
		{"12", 0, false, `say "12s" for seconds`},
		{"0s", 0, false, `say "none" to state nothing`},
		{"Means", 0, false, "mean"},
		{"", 0, false, "allowed is none, mean or a duration"},
	} {
		var e contest.Event
		err := Durations{Processing: row.processing, BootKnown: true, Boot: time.Minute}.AddTo(&e)
		if row.refused != "" {
			if !misuse.Is(err) || !strings.Contains(err.Error(), row.refused) {
				t.Errorf("%q: found the error %v, want one about the request with %q", row.processing, err, row.refused)
			}
			continue
		}
		if err != nil || e.Prior != row.prior || e.TellMean != row.mean || !e.TellBoot || e.BootPrior != time.Minute {
			t.Errorf("%q: found %v, %s, %t, want %s, %t", row.processing, err, e.Prior, e.TellMean, row.prior, row.mean)
		}
	}
}

func TestWorldSettings(t *testing.T) {
	var w world.World
	if err := SetWorld(&w, []string{"boot=90s,boot-cv=0.3", "boot=10s"}); err != nil || w.Boot.Mean != 10*time.Second ||
		w.Boot.CV != 0.3 {
		t.Errorf("found %v and %+v, want a boot of 10s with a variation of 0.3: later settings win", err, w.Boot)
	}
	for text, want := range map[string]string{
		"boot": "write KEY=VALUE", "bot=3s": "boot", "spot=2": "0 to 1", "boot=25h": "24h",
	} {
		if err := SetWorld(&world.World{}, []string{text}); !misuse.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: found the error %v, want one about the request with %q", text, err, want)
		}
	}
}

func TestRangesOfAnEvent(t *testing.T) {
	good := contest.Event{Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Limits: muster.Limits{Max: 5}, Poll: time.Second}
	if err := Check(good); err != nil {
		t.Fatalf("found %v for an event in range", err)
	}
	for name, change := range map[string]func(*contest.Event){
		"objective": func(e *contest.Event) { e.Objective.Latency = 0 },
		"quantile":  func(e *contest.Event) { e.Objective.Quantile = 1.1 },
		"max":       func(e *contest.Event) { e.Limits.Min = 6 },
		"poll":      func(e *contest.Event) { e.Poll = time.Millisecond },
		"late":      func(e *contest.Event) { e.Objective.Late = -1 },
	} {
		e := good
		change(&e)
		if err := Check(e); !misuse.Is(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: found the error %v, want one about the request that names it", name, err)
		}
	}
}
