package arena

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/tools/score/scoretest"
)

// tinyArena makes two runs at a time, with limits that are weak.
func tinyArena(t *testing.T) *Arena {
	t.Helper()
	limits, err := OpenLimits(filepath.Join(t.TempDir(), "limits.json"))
	if err != nil {
		t.Fatal(err)
	}
	limits.Compute = scoretest.Weak
	runs, err := OpenStore[scoring.Result]("")
	if err != nil {
		t.Fatal(err)
	}
	return New(t.Context(), 2, limits, runs, io.Discard)
}

// Two runs with the same cache would compute the same results side by side, so only one may have it.
func TestOnlyOneRunKeepsResultsInADirectory(t *testing.T) {
	dir := t.TempDir()
	first, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(dir); err == nil || !strings.Contains(err.Error(), "another run does so now") {
		t.Errorf("the second claim has the error %v, want one that names the other run", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Claim(dir)
	if err != nil {
		t.Fatalf("a claim after the first was given up: %v", err)
	}
	again.Close()
	if none, err := Claim(""); none != nil || err != nil {
		t.Errorf("no directory: found %v, %v, want nothing to claim", none, err)
	}
}

// The race leaves out runs, and must find what trying everything finds.
func TestTheRaceFindsWhatHindsightFinds(t *testing.T) {
	a := tinyArena(t)
	seeds := []uint64{1, 2, 3}
	names := []string{"keda-tuned", "s3", "nomad"}
	var peers []contest.Contender
	for _, name := range names {
		c, err := contest.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Sweep = c.Sweep[:5]
		peers = append(peers, c)
	}
	for _, x := range []trace.Scenario{
		scoretest.Tiny("tiny", "poisson:rate=0.2,duration=6m,service=10s", 5*time.Minute),
		scoretest.Tiny("tiny-hard", "poisson:rate=0.5,duration=6m,service=4s,cv=0", 20*time.Second),
	} {
		e := contest.Told(contest.Scenario(x))
		want, err := contest.Hindsight(t.Context(), e, peers, seeds, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := a.made
		got, err := a.Tune(e, peers, seeds, []float64{0.99})
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if got[i].Peer.Value != w.Value {
				t.Errorf("%s on %s: found the setting %g, trying all finds %g", names[i], x.Name, got[i].Peer.Value,
					w.Value)
			}
		}
		if made, all := a.made-before, 3*5*3; made >= all {
			t.Errorf("%s: found %d runs, want fewer than all %d", x.Name, made, all)
		}
	}
}

func TestLimitsAreKeptForTheSameProblemAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	of := func(latency time.Duration, seed uint64) *Limits {
		f, err := OpenLimits(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := contest.Prepare(contest.Told(contest.Scenario(scoretest.Tiny("tiny",
			"burst:size=3,service=10s,cv=0.5",
			latency))), seed)
		if err != nil {
			t.Fatal(err)
		}
		f.Compute = scoretest.Weak
		fresh, err := f.Of(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := scoretest.Weak(&p); err != nil {
			t.Fatal(err)
		}
		if fresh.Prescient.WorkerSeconds != p.Limits.Prescient.WorkerSeconds ||
			fresh.Causal.WorkerSeconds != p.Limits.Causal.WorkerSeconds {
			t.Errorf("found %v, computing it gives %v", fresh, p.Limits)
		}
		if err := f.Write(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, x := range []struct {
		name     string
		latency  time.Duration
		seed     uint64
		computed int
	}{{"first", 5 * time.Minute, 6, 1}, {"again", 5 * time.Minute, 6, 0}, {"another objective", 4 * time.Minute, 6,
		1}, {"another trace", 5 * time.Minute, 7, 1}} {
		if f := of(x.latency, x.seed); f.Computed != x.computed || f.Taken != 1-x.computed {
			t.Errorf("%s: found %d computed and %d taken, want %d computed", x.name, f.Computed, f.Taken, x.computed)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLimits(path); err == nil || !strings.Contains(err.Error(), "remove") {
		t.Errorf("found the error %v for a broken file, want what to do", err)
	}
}

func TestRunsOfPeersAreKeptForTheSameCodeAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "peers.json")
	for _, x := range []struct {
		name, print string
		of          int
		seed        uint64
		made, taken int
	}{
		{"nothing is kept yet", "a", 0, 6, 1, 0}, {"the same run", "a", 0, 6, 0, 1}, {"other code", "b", 0, 6, 1, 0},
		{"another seed", "a", 0, 7, 1, 0},
		{"another peer", "a", 1, 6, 1, 0}, {"no code known", "", 0, 6, 0, 0},
	} {
		s, peers := tinyArena(t), scoretest.Peers(t)
		var err error
		if s.Runs, err = OpenStore[scoring.Result](path); err != nil {
			t.Fatal(err)
		}
		s.PeersPrint = x.print
		e := contest.Told(contest.Scenario(scoretest.Tiny("tiny", "burst:size=3,service=10s,cv=0.5", 5*time.Minute)))
		o, err := s.Run(e, peers[x.of], x.seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Runs.Write(); err != nil {
			t.Fatal(err)
		}
		p, err := s.Prepared(e, x.seed)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.simulate(p, peers[x.of])
		if err != nil {
			t.Fatal(err)
		}
		if s.Runs.Computed != x.made || s.Runs.Taken != x.taken || !reflect.DeepEqual(o.Result, again.Result) {
			t.Errorf("%s: found %d made, %d taken and %+v, want %d, %d and %+v", x.name, s.Runs.Computed, s.Runs.Taken,
				o.Result, x.made, x.taken, again.Result)
		}
	}
}
