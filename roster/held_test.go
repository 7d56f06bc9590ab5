package roster_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func held(seconds float64) func(*protocol.Report) {
	return func(r *protocol.Report) { r.HeldSeconds = seconds }
}

func TestHowLongMessagesInHandHaveBeenWorkedOn(t *testing.T) {
	for _, row := range []struct {
		name            string
		reports         []protocol.Report
		now             float64
		mean, deviation float64
	}{
		{"nothing in hand", []protocol.Report{says("a", 1, protocol.Receiving)}, 1, 0, 0},
		{"one message since 7 s", []protocol.Report{says("a", 1, protocol.Receiving, busy(1), held(7))}, 1, 7, 0},
		{"what came of it after the report is not known: it may have had ten others",
			[]protocol.Report{says("a", 1, protocol.Receiving, busy(1), held(7))}, 4, 7, 0},
		{"two messages on one worker count by their mean",
			[]protocol.Report{says("a", 1, protocol.Receiving, busy(2), held(8))}, 1, 4, 0},
		{"workers that began together differ by their reports", []protocol.Report{
			says("a", 1, protocol.Receiving, busy(1), held(5)), says("b", 3, protocol.Receiving, busy(1), held(7))}, 3,
			6, 1},
		{"workers that began apart do", []protocol.Report{
			says("a", 1, protocol.Receiving, busy(1), held(2)), says("b", 1, protocol.Receiving, busy(1), held(8))}, 1,
			5, 3},
		{"idle workers do not count", []protocol.Report{
			says("a", 1, protocol.Receiving, busy(1), held(2)), says("b", 1, protocol.Receiving)}, 1, 2, 0},
		{"workers that drain do not count", []protocol.Report{
			says("a", 1, protocol.Receiving, busy(1), held(2)),
			says("b", 1, protocol.Draining, busy(1), held(90), cause(protocol.Signalled))}, 1, 2, 0},
		{"workers that went silent do not count", []protocol.Report{
			says("a", 15, protocol.Receiving, busy(1), held(2)), says("b", 1, protocol.Receiving, busy(1), held(90))},
			15, 2, 0},
		{"several workers on one member count each", []protocol.Report{
			says("a", 1, protocol.Receiving, worker("one"), busy(1), held(1)),
			says("a", 2, protocol.Receiving, worker("two"), busy(1), held(4))}, 2, 2.5, 1.5},
		{"a report that comes from the future is not taken back",
			[]protocol.Report{says("a", 5, protocol.Receiving, busy(1), held(7))}, 1, 7, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			took(t, &r, row.reports...)
			c := r.Capacity(at(row.now), rules, 2)
			if math.Abs(c.HeldMeanSeconds-row.mean) > 1e-3 || math.Abs(c.HeldDeviationSeconds-row.deviation) > 1e-3 {
				t.Errorf("held for %v s on average, differing by %v s; want %v and %v", c.HeldMeanSeconds,
					c.HeldDeviationSeconds, row.mean, row.deviation)
			}
		})
	}
}

func TestHeldMessagesOfAnyFleetAreFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r roster.Roster
		var least, most float64
		for i := range rapid.IntRange(1, 30).Draw(t, "workers") {
			n := rapid.IntRange(1, 2).Draw(t, "busy")
			each := rapid.Float64Range(0, 366*24*60*60).Draw(t, "held for")
			if i == 0 {
				least = each
			}
			least, most = min(least, each), max(most, each)
			if taken, _ := r.Reported(says(string(rune('a'+i)), 1, protocol.Receiving, busy(n),
				held(each*float64(n)))); !taken {
				t.Fatalf("a report of %d messages held for %v s each was not taken", n, each)
			}
		}
		c := r.Capacity(at(1), rules, 2)
		if c.HeldMeanSeconds < least-0.001 || c.HeldMeanSeconds > most+0.001 || !(c.HeldDeviationSeconds >= 0) ||
			c.HeldDeviationSeconds > (most-least)/2+1 {
			t.Fatalf("held for %v s on average, differing by %v s, where each is between %v and %v", c.HeldMeanSeconds,
				c.HeldDeviationSeconds, least, most)
		}
	})
}

func TestAReportOfMessagesHeldForATimeThatCannotBeIsRefused(t *testing.T) {
	const year = 366 * 24 * 60 * 60
	for _, row := range []struct {
		name    string
		busy    int
		seconds float64
		fine    bool
	}{
		{"nothing held", 0, 0, true},
		{"just received", 2, 0, true},
		{"a year for each", 2, 2 * year, true},
		{"held by nobody", 0, 1, false},
		{"longer than a year for each", 2, 2*year + 1, false},
		{"less than nothing", 1, -0.001, false},
		{"no number", 1, math.NaN(), false},
		{"without end", 1, math.Inf(1), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := roster.Check(says("a", 1, protocol.Receiving, busy(row.busy), held(row.seconds)))
			if (err == nil) != row.fine || err != nil && !strings.Contains(err.Error(), "a year for each") {
				t.Errorf("%d messages held for %v s: %v", row.busy, row.seconds, err)
			}
		})
	}
}
