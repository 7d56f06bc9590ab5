package prior

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/limit/uninformed"
	"github.com/muster-scale/muster/sim/trace"
)

// beginning is a start played with two durations: what is told, least and ours are those of the first, and a tenth of
// them of the second; hanging is that of both.
func beginning(name string, told, least, ours, hanging float64) begun {
	b := begun{Start: Start{name: name, shown: []time.Duration{time.Second}}}
	for _, scale := range []float64{1, 0.1, 1000} { // the last is shown alone, and judged by nothing
		b.played = append(b.played, playedStart{told: scale * told, least: scale * least, leastMultiple: scale * least,
			ours: scale * ours, hanging: scale * hanging})
	}
	return b
}

func TestStartsAreJudgedByTheirLimits(t *testing.T) {
	for _, x := range []struct {
		name string
		all  []begun
		met  [3]bool
		says string
	}{
		{"at the limit", []begun{beginning("x", 90, 100, 100, 100)}, [3]bool{true, true, true}, ""},
		{"a tenth above it", []begun{beginning("x", 90, 100, 109, 109)}, [3]bool{true, true, true}, ""},
		{"more than a tenth", []begun{beginning("x", 90, 100, 112, 100)}, [3]bool{false, false, true}, "x: 1.120 x"},
		{"one of two starts", []begun{beginning("x", 90, 100, 100, 100), beginning("y", 90, 100, 100, 150)},
			[3]bool{true, true, false}, "y: 1.500 x"},
	} {
		t.Run(x.name, func(t *testing.T) {
			said := ""
			for i, g := range judgeStarts(x.all) {
				if g.Met != x.met[i] {
					t.Errorf("%s: found met %v with %s, want %v", g.What, g.Met, g.Found, x.met[i])
				}
				said += g.Why
			}
			if !strings.Contains(said, x.says) || (x.says == "") != (said == "") {
				t.Errorf("found %q, want it to say %q", said, x.says)
			}
		})
	}
}

// Short durations count in the multiples as much as long ones, and next to nothing in the mean loss.
func TestAMultipleCountsEachDurationAlike(t *testing.T) {
	b := beginning("x", 100, 100, 100, 100)
	b.played[1].ours *= 2
	if loss, times := b.overLoss(), b.overMultiple(); loss > 1.1 || times != 1.5 {
		t.Errorf("found %v and %v, want little more than 1 and 1.5", loss, times)
	}
}

func TestAStartIsABurstAndMayBeginWithAMessageThatHangs(t *testing.T) {
	for _, x := range []struct {
		hangs time.Duration
		want  []time.Duration
	}{
		{0, []time.Duration{time.Second, time.Second}},
		{time.Hour, []time.Duration{time.Hour, time.Second, time.Second}},
	} {
		e := Start{name: "x", burst: uninformed.Burst{Messages: 2}}.event(time.Second, x.hangs)
		found, err := e.Trace(1)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		if err := found.Each(func(m trace.Message) bool {
			if i >= len(x.want) || m.Service != x.want[i] || m.Arrival != 0 {
				t.Errorf("%s: message %d is %+v, want %v at the start", e.Name, i, m, x.want)
			}
			i++
			return true
		}); err != nil || i != len(x.want) {
			t.Errorf("%s: found %d messages, %v, want %d", e.Name, i, err, len(x.want))
		}
	}
}

func TestLaunchesInWords(t *testing.T) {
	for _, x := range []struct {
		all  []uninformed.Launch
		want string
	}{
		{[]uninformed.Launch{{Workers: 2}}, "2"},
		{[]uninformed.Launch{{Workers: 1}, {Longer: 4 * time.Second, Workers: 2},
			{Longer: 9 * time.Second, Workers: 3}},
			"1, and 5 from 4s on"},
	} {
		if got := launchWords(x.all); got != x.want {
			t.Errorf("%v: found %q, want %q", x.all, got, x.want)
		}
	}
}
