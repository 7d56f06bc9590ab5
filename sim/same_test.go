package sim

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// digest is everything that a story does: every record that its controller writes, in order, and what it came to.
func (s story) digest(t testing.TB) string {
	h := sha256.New()
	s.Recorded = true
	s.Stepped = func(v View) {
		for _, x := range v.Outcome.Records {
			fmt.Fprintf(h, "%d %s %s %s\n", x.At.UnixNano(), x.Kind, x.Body, x.Shared)
		}
		fmt.Fprintf(h, "%d %d %d %d %d\n", v.Sent, v.Finished, v.Live, v.Ready, v.Busy)
	}
	e, err := s.told()
	if err != nil {
		t.Error(err)
	}
	result, err := json.Marshal(e)
	if err != nil {
		t.Error(err)
	}
	h.Write(result)
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestTheSameSeedDoesTheSameToTheByte(t *testing.T) {
	threads := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(threads)
	digests := map[string]uint64{}
	for seed := uint64(1); seed <= 25; seed++ {
		runtime.GOMAXPROCS(1)
		first := tell(t, seed).digest(t)
		runtime.GOMAXPROCS(4)
		var beside [2]string // two at a time share nothing
		var all sync.WaitGroup
		for i := range beside {
			all.Go(func() { beside[i] = tell(t, seed).digest(t) })
		}
		all.Wait()
		if beside[0] != first || beside[1] != first {
			t.Errorf("seed %d: found %.12s, then %.12s and %.12s", seed, first, beside[0], beside[1])
		}
		if other, twice := digests[first]; twice {
			t.Errorf("seeds %d and %d do the same", other, seed)
		}
		digests[first] = seed
	}
}

// Without bodies of records a run takes a third less time. Nothing else differs.
func TestARunThatIsNotRecordedDoesTheSame(t *testing.T) {
	for seed := uint64(1); seed <= 25; seed++ {
		o := tell(t, seed).Options
		o.World.ControllerCrashes = 0 // a world with crashes has bodies either way
		var results [2]string
		for i, recorded := range []bool{false, true} {
			o.Recorded = recorded
			result, err := Run(o)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			results[i] = string(text)
		}
		if results[0] != results[1] {
			t.Errorf("seed %d: found %s without bodies and %s with them", seed, results[0], results[1])
		}
	}
}

func TestAnotherSeedOfTheWorldAloneDoesSomethingElse(t *testing.T) {
	a, b := tell(t, 1), tell(t, 1)
	b.Seed = 99
	if a.digest(t) == b.digest(t) {
		t.Error("the seed of the run changes nothing")
	}
}
