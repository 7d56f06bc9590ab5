package alarm

import (
	"slices"
	"testing"
	"time"
)

// row reads datapoints: "0" is fine, "X" breaches, "-" is missing.
func row(text string) (points []Datapoint) {
	for _, c := range text {
		points = append(points, map[rune]Datapoint{'0': Fine, 'X': Breach, '-': Unknown}[c])
	}
	return points
}

// TestThePublishedExamples holds the tables of the user guide, 3 of 3 and 2 of 3 datapoints with a range of five.
func TestThePublishedExamples(t *testing.T) {
	const keep = State("keep")
	for _, c := range []struct {
		row                              string
		missing, ignore, breach, nothing State
		m                                int
	}{
		{"0-X-X", OK, OK, OK, OK, 3},
		{"0----", OK, OK, OK, OK, 3},
		{"-----", InsufficientData, keep, Alarm, OK, 3},
		{"0XX-X", Alarm, Alarm, Alarm, Alarm, 3},
		{"--X--", Alarm, keep, Alarm, OK, 3},
		{"----X", keep, keep, Alarm, OK, 3}, // not premature
		{"---X-", keep, keep, Alarm, OK, 3},
		{"---XX", keep, keep, Alarm, OK, 3},
		{"X----", Alarm, keep, Alarm, OK, 3},
		{"0-X-X", Alarm, Alarm, Alarm, Alarm, 2}, // 2 of 3
		{"00X0X", Alarm, Alarm, Alarm, Alarm, 2},
		{"0-X--", OK, keep, Alarm, OK, 2},
		{"----X", keep, keep, Alarm, OK, 2},
		{"000X0", OK, OK, OK, OK, 2},
	} {
		for missing, want := range map[Treatment]State{Missing: c.missing, Ignore: c.ignore, Breaching: c.breach,
			NotBreaching: c.nothing} {
			r := Rule{Comparison: Above, Threshold: 5, Periods: 3, Datapoints: c.m, Missing: missing}
			for _, before := range []State{OK, Alarm} {
				expected := want
				if want == keep {
					expected = before
				}
				if got := r.State(before, row(c.row)); got != expected {
					t.Errorf("%s with %s in %s, %d of 3: %s, want %s", c.row, missing, before, c.m, got, expected)
				}
			}
		}
	}
}

func TestAValueAtTheThresholdBreachesWhereItIsSaid(t *testing.T) {
	for comparison, want := range map[Comparison][]Datapoint{
		Above: {Fine, Fine, Breach}, AtLeast: {Fine, Breach, Breach},
		Below: {Breach, Fine, Fine}, AtMost: {Breach, Breach, Fine},
	} {
		r := Rule{Comparison: comparison, Threshold: 5}
		if got := []Datapoint{r.Datapoint(4), r.Datapoint(5), r.Datapoint(6)}; !slices.Equal(got, want) {
			t.Errorf("%s 5 of 4, 5 and 6: %v, want %v", comparison, got, want)
		}
	}
}

func TestTheActionRepeatsEveryMinuteWhileTheAlarmLasts(t *testing.T) {
	r := Rule{Comparison: Above, Threshold: 5, Periods: 1, Datapoints: 1, Missing: Missing}
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	s := Status{State: InsufficientData}
	var acted []int
	for second := 0; second < 300; second += 10 {
		point := Breach
		if second == 130 {
			point = Fine
		}
		s.Evaluate(r, []Datapoint{point})
		if s.Act(start.Add(time.Duration(second) * time.Second)) {
			acted = append(acted, second)
		}
	}
	// One fine datapoint at 130 ends the alarm, so the next one acts at once.
	if want := []int{0, 60, 120, 140, 200, 260}; !slices.Equal(acted, want) {
		t.Errorf("acted at %v, want %v", acted, want)
	}
}

func TestShortPeriodsAreEvaluatedEveryTenSeconds(t *testing.T) {
	for period, want := range map[time.Duration]time.Duration{10 * time.Second: 10 * time.Second,
		30 * time.Second: 10 * time.Second, time.Minute: time.Minute, 5 * time.Minute: time.Minute} {
		if got := Every(period); got != want {
			t.Errorf("periods of %s are evaluated every %s, want %s", period, got, want)
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	good := Rule{Comparison: Above, Periods: 3, Datapoints: 2, Missing: Missing}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Rule){
		"no period":             func(r *Rule) { r.Periods = 0 },
		"4 of 3":                func(r *Rule) { r.Datapoints = 4 },
		"an unknown comparison": func(r *Rule) { r.Comparison = "Equal" },
		"an unknown treatment":  func(r *Rule) { r.Missing = "forget" },
	} {
		r := good
		change(&r)
		if r.Check() == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}
