package roster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestAReportsClassesArePartOfItsDurations(t *testing.T) {
	two := series.Add(series.Durations{}, time.Second, time.Minute)
	one := series.Add(series.Durations{}, time.Second)
	many := func(n int) map[string]series.Durations {
		classes := map[string]series.Durations{}
		for i := range n {
			classes[fmt.Sprint(i)] = series.Durations{}
		}
		return classes
	}
	tests := []struct {
		name, says string
		classes    map[string]series.Durations
	}{
		{"none", "", nil},
		{"one of two has a class", "", map[string]series.Durations{"large": one}},
		{"each has its own", "", map[string]series.Durations{"large": one, "small": one}},
		{"as many as allowed", "", many(protocol.MaxClasses + 1)},
		{"more than allowed", "18 classes, at most 17", many(protocol.MaxClasses + 2)},
		{"more than there are", "3 durations in its classes", map[string]series.Durations{"large": two, "small": one}},
		{"a class without a name", "1 to 256", map[string]series.Durations{"": one}},
		{"a giant name", "1 to 256", map[string]series.Durations{strings.Repeat("x", 257): one}},
		{"durations that nobody measured", "cannot be a part",
			map[string]series.Durations{"large": {Count: 1, SumSeconds: -5}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := roster.Check(protocol.Report{Member: "m", Worker: "m", Seq: 1, Slots: 1, State: protocol.Receiving,
				Finished: 2, Processing: two, Classes: test.classes})
			if test.says == "" && err != nil || test.says != "" &&
				(err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
		})
	}
}
