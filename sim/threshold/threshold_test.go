package threshold_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/threshold"
)

func TestAResultIsHeldAgainstItsThresholds(t *testing.T) {
	results := []scoring.Result{{Policy: "exact", Trace: "step", Seed: 3, InTimeRatio: 0.98}}
	for text, missed := range map[string]bool{
		"in_time_ratio>=0.99": true, " in_time_ratio > 0.98": true, "in_time_ratio>=0.98": false,
		"in_time_ratio<=0.98": false,
		"in_time_ratio<0.98":  true,
	} {
		all, err := threshold.OfResults([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		err = threshold.Missed(results, all)
		if _, is := errors.AsType[*threshold.MissedError](err); is != missed || (err != nil) != missed {
			t.Errorf("%s: found %v, missed should be %t", text, err, missed)
		}
		if missed && !strings.Contains(err.Error(),
			"exact on step, seed 3: "+strings.TrimSpace(text)+" is missed, found 0.98") {
			t.Errorf("%s: the error says %q", text, err)
		}
	}
	for _, text := range []string{"in_time_ratio", "in_time_ratio=1", "nothing>=1", "in_time_ratio>=1e"} {
		if _, err := threshold.OfResults([]string{text}); !misuse.Is(err) {
			t.Errorf("%q gives the error %v", text, err)
		}
	}
}
