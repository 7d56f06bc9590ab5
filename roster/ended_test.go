package roster_test

import (
	"fmt"
	"testing"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestWhatEndsInACloneEndsNowhereElse(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"a", "b", "c"})
	r.Listed(list(1, "a", "b", "c"))
	r.Listed(ended(list(2, "b", "c"), "a", ""))
	one, other := r.Clone(), r.Clone()
	one.Listed(ended(list(3, "c"), "b", "exit status 1"))
	other.Listed(ended(list(3, "b"), "c", "exit status 1"))
	one.Launched(at(4), []string{"d"})
	other.Launched(at(4), []string{"e", "f"})
	for _, x := range []struct {
		name     string
		roster   roster.Roster
		states   string
		launches int
	}{
		{"the roster itself", r, "b booting, c booting", 3},
		{"one clone", one, "c booting, d ordered", 4},
		{"the other clone", other, "b booting, e ordered, f ordered", 5},
	} {
		if got := states(x.roster, at(4)); got != x.states {
			t.Errorf("%s: found %q, want %q", x.name, got, x.states)
		}
		if n := x.roster.Launches().LastHour; n != x.launches {
			t.Errorf("%s: found %d launches, want %d", x.name, n, x.launches)
		}
	}
}

func TestAMemberThatEndedIsRememberedForAWhile(t *testing.T) {
	var r roster.Roster
	r.Launched(t0, []string{"m"})
	took(t, &r, says("m", 1, protocol.Idle))
	r.Release("m", at(1))
	r.Listed(ended(list(2), "m", ""))
	if taken, _ := r.Reported(says("m", 3, protocol.Idle)); taken {
		t.Error("a late report was taken")
	}
	if d := r.Directive("m", "m"); d.Ask != protocol.Leave {
		t.Errorf("its worker is told to %s, want it to leave as it was granted", d.Ask)
	}
	r.Launched(at(4), []string{"m"})
	r.Listed(list(5, "m"))
	if got := states(r, at(5)); got != "" {
		t.Errorf("found %q: it came back", got)
	}
	r.Tidy(at(2).Add(rules.Remember+1), rules)
	r.Listed(list(400, "m"))
	if got := states(r, at(400)); got != "m booting" {
		t.Errorf("long after its end found %q, want it taken for a new one", got)
	}
}

func TestLaunchesOfThePastHourCount(t *testing.T) {
	var r roster.Roster
	for i := range 3 {
		r.Launched(at(float64(i)*1800), []string{fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)})
	}
	for _, x := range []struct {
		seconds float64
		want    int
	}{{3600, 6}, {3601, 4}, {5401, 2}, {7201, 0}} {
		r.Tidy(at(x.seconds), rules)
		if n := r.Launches().LastHour; n != x.want {
			t.Errorf("after %v s: found %d launches, want %d", x.seconds, n, x.want)
		}
	}
}
