package comparison_test

import (
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/comparison"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// short is an event of some minutes.
func short() contest.Event {
	return contest.Event{
		Name: "short", Objective: muster.Objective{Latency: 2 * time.Minute, Quantile: 0.99},
		Limits: muster.Limits{Max: 10, LaunchesPerHour: contest.LaunchesPerHour}, Poll: 5 * time.Second,
		World: world.World{Boot: world.Draw{Mean: 20 * time.Second}, Slots: 1},
		Trace: func(seed uint64) (trace.Trace, error) {
			return trace.Load("step:rate=0.1,to=0.3,at=60s,duration=180s", trace.Options{Seed: seed})
		},
	}
}

func find(t *testing.T, names ...string) (all []contest.Contender) {
	t.Helper()
	for _, name := range names {
		c, err := contest.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestAComparisonIsTheSameHoweverManyRunsThereAreAtATime(t *testing.T) {
	c := comparison.Comparison{Events: []contest.Event{short(), short()}, Contenders: find(t, "exact", "keda"),
		Seeds:  []uint64{1, 2},
		Record: true, Parallel: 1, Progress: io.Discard}
	results, runs, err := c.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 8 || len(runs) != 4 {
		t.Errorf("found %d results and the curves of %d runs, want 8, and those of the first seed", len(results),
			len(runs))
	}
	c.Parallel = 4
	again, _, err := c.Play(t.Context())
	if err != nil || !reflect.DeepEqual(results, again) {
		t.Errorf("found another result with four runs at a time: %v", err)
	}
}

func TestOurPoliciesRunTwiceUnlessTheUserSaysWhatIsStated(t *testing.T) {
	for _, row := range []struct {
		name        string
		once, named bool
		want        []string
		fails       bool
	}{
		{"all", false, false, []string{"exact", "exact (told)", "backlog-per-worker (told)", "keda"}, false},
		{"named ones", false, true, []string{"exact", "exact (told)", "backlog-per-worker (told)", "keda"}, false},
		{"all with what is stated", true, false, []string{"exact", "keda"}, false},
		{"named ones with what is stated", true, true, nil, true},
	} {
		all, told, err := comparison.Informed(find(t, "exact", "backlog-per-worker", "keda"), short(), row.once,
			row.named)
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
		}
		if (err != nil) != row.fails || !slices.Equal(names, row.want) || !row.once && len(told) != 2 {
			t.Errorf("%s: found %q, told are %q, %v; want %q", row.name, names, told, err, row.want)
		}
	}
}
