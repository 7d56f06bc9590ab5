package protocol_test

import (
	"math"
	"testing"

	"github.com/muster-scale/muster/worker/protocol"
)

func TestUsagesAddUpAndKeepTheExtremes(t *testing.T) {
	small := protocol.Usage{Calls: 1, WallSeconds: 10, CPUSeconds: 1, PeakBytes: 5, Cores: 2, MemoryBytes: 100}
	large := protocol.Usage{Calls: 3, WallSeconds: 30, CPUSeconds: 6, PeakBytes: 7, Cores: 4, MemoryBytes: 200}
	unsure := protocol.Usage{Calls: 1, WallSeconds: 5, CPUSeconds: 2}
	for _, row := range []struct {
		name       string
		a, b, want protocol.Usage
	}{
		{"of two sizes of members", small, large, protocol.Usage{Calls: 4, WallSeconds: 40, CPUSeconds: 7, PeakBytes: 7,
			Cores: 3.5, MemoryBytes: 100}},
		{"with nothing", small, protocol.Usage{}, small},
		{"nothing with one", protocol.Usage{}, large, large},
		{"of one that does not know its machine", unsure, small, protocol.Usage{Calls: 2, WallSeconds: 15,
			CPUSeconds: 3, PeakBytes: 5, Cores: 2, MemoryBytes: 100}},
	} {
		if got := protocol.MergeUsage(row.a, row.b); got != row.want {
			t.Errorf("%s: found %+v, want %+v", row.name, got, row.want)
		}
	}
}

func TestAUsageThatNoMachineHasIsInvalid(t *testing.T) {
	if u := (protocol.Usage{Calls: 1, WallSeconds: 1, CPUSeconds: 0.5, Cores: 0.25}); !u.Valid() {
		t.Errorf("%+v is refused", u)
	}
	for _, u := range []protocol.Usage{
		{}, {Calls: -1}, {Calls: 1, CPUSeconds: -1}, {Calls: 1, WallSeconds: math.NaN()},
		{Calls: 1, CPUSeconds: math.Inf(1)},
		{Calls: 1, PeakBytes: -1}, {Calls: 1, MemoryBytes: math.MaxInt64}, {Calls: 1, Cores: 1e9}, {Calls: 2e9},
	} {
		if u.Valid() {
			t.Errorf("%+v is taken", u)
		}
	}
}
