package roster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
)

func TestAReportsClassesArePartOfItsDurations(t *testing.T) {
	two := series.Add(muster.Durations{}, time.Second, time.Minute)
	one := series.Add(muster.Durations{}, time.Second)
	many := func(n int) map[string]muster.Durations {
		classes := map[string]muster.Durations{}
		for i := range n {
			classes[fmt.Sprint(i)] = muster.Durations{}
		}
		return classes
	}
	tests := []struct {
		name, says string
		classes    map[string]muster.Durations
	}{
		{"none", "", nil},
		{"one of two has a class", "", map[string]muster.Durations{"large": one}},
		{"each has its own", "", map[string]muster.Durations{"large": one, "small": one}},
		{"as many as allowed", "", many(muster.MaxClasses + 1)},
		{"more than allowed", "18 classes, at most 17", many(muster.MaxClasses + 2)},
		{"more than there are", "3 durations in its classes", map[string]muster.Durations{"large": two, "small": one}},
		{"a class without a name", "1 to 256", map[string]muster.Durations{"": one}},
		{"a giant name", "1 to 256", map[string]muster.Durations{strings.Repeat("x", 257): one}},
		{"durations that nobody measured", "cannot be a part", map[string]muster.Durations{"large": {Count: 1, SumSeconds: -5}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := roster.Check(muster.Report{Member: "m", Worker: "m", Seq: 1, Slots: 1, State: muster.Receiving, Finished: 2, Processing: two, Classes: test.classes})
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
		})
	}
}
