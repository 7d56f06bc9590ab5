package peer

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// points is what an AWS policy keeps when the next point is due now, after so many points below and then so many above.
func points(high, low int, more ...muster.Value) muster.Recent {
	code := 0
	for k := range low + high {
		code <<= 2
		if code |= pointBelow; k >= low {
			code ^= pointBelow ^ pointAbove
		}
	}
	kept := append([]muster.Value{{Name: keptPoint, Value: seconds(t0)}, {Name: keptPoints, Value: float64(code)}},
		more...)
	return muster.Recent{ago(time.Minute, 1, 1, kept...)}
}

func TestTargetTrackingByItsPublishedExamples(t *testing.T) {
	warm := muster.Value{Name: keptWarm, Value: seconds(t0) + 10}
	for _, row := range []struct {
		name   string
		peer   string
		prior  time.Duration
		recent muster.Recent
		see    see
		want   int
	}{
		{"1500 visible, 10 in service, 0.1 s each within 10 s: 100 are acceptable, so out by five", "aws-static",
			100 * time.Millisecond,
			points(2, 0), see{backlog: 1500, serving: 10, latency: 10 * time.Second}, 15},
		{"the same at the second point: the alarm does not stand yet", "aws-static", 100 * time.Millisecond,
			points(1, 0), see{backlog: 1500, serving: 10, latency: 10 * time.Second}, 10},
		{"what is on its way counts: no second order", "aws-static", 100 * time.Millisecond,
			points(3, 0), see{backlog: 1500, serving: 10, coming: 5, latency: 10 * time.Second}, 15},
		{"a backlog that grew further gets the difference", "aws-static", 100 * time.Millisecond,
			points(3, 0), see{backlog: 1801, serving: 10, coming: 5, latency: 10 * time.Second}, 19},
		{"the high alarm never shrinks", "aws-static", 100 * time.Millisecond,
			points(3, 0), see{backlog: 1500, serving: 10, coming: 20, latency: 10 * time.Second}, 30},
		{"48 visible of 25 s within 300 s: 4", "aws-dynamic", time.Second, points(2, 0),
			see{backlog: 48, serving: 1, mpd: 25 * time.Second}, 4},
		{"48 visible of 50 s within 300 s: 8", "aws-dynamic", time.Second, points(2, 0),
			see{backlog: 48, serving: 1, mpd: 50 * time.Second}, 8},
		{"a fixed target does not know that they take 50 s", "aws-static", 25 * time.Second, points(2, 0),
			see{backlog: 48, serving: 1, mpd: 50 * time.Second}, 4},
		{"nothing measured yet: the user's figure", "aws-dynamic", 25 * time.Second, points(2, 0),
			see{backlog: 48, serving: 1}, 4},
		{"ten slots do ten messages at once", "aws-static", 25 * time.Second, points(2, 0),
			see{backlog: 481, serving: 1, slots: 10}, 5},
		{"utilization 1.4 on ten workers at a target of 0.7", "aws-utilization", 0, points(2, 0),
			see{backlog: 4, inFlight: 10, serving: 10, busy: 10}, 20},
		{"utilization of a fleet at zero with work is 1: at least one", "aws-utilization", 0, points(2, 0),
			see{backlog: 400}, 1},
		{"at the target nothing happens", "aws-utilization", 0, points(2, 14), see{inFlight: 7, serving: 10, busy: 7},
			10},
		{"0.64 is not a tenth below 0.7", "aws-utilization", 0, points(0, 14),
			see{inFlight: 64, serving: 100, busy: 64}, 100},
		{"0.62 is, at the fifteenth point: 62/0.7 rounded up", "aws-utilization", 0, points(0, 14),
			see{inFlight: 62, serving: 100, busy: 62}, 89},
		{"at the fourteenth it is not", "aws-utilization", 0, points(0, 13), see{inFlight: 62, serving: 100, busy: 62},
			100},
		{"while instances warm up nothing shrinks", "aws-utilization", 0, points(0, 14, warm),
			see{inFlight: 62, serving: 100, busy: 62}, 100},
		{"an empty queue shrinks to nothing, which the minimum stops", "aws-static", time.Second, points(0, 14),
			see{serving: 5, min: 1}, 0},
		{"zero instances have no backlog per instance", "aws-static", time.Second, points(2, 0), see{backlog: 900}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, _ := Find(row.peer)
			d := p.Build(p.Default, row.prior).Decide(row.see.at(t0), row.recent)
			if d.Desired != row.want {
				t.Errorf("desired %d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

func TestTheFixedAlarmsTakeThreeAndFifteenMinutes(t *testing.T) {
	// The test of the dynamic target: 48 messages of 25 s within 300 s, boots of 90 s. Everything is done at second
	// 600.
	script := func(second int) see {
		s := see{backlog: 48, inFlight: 1, mpd: 25 * time.Second, min: 1}
		if second >= 600 {
			s.backlog, s.inFlight = 0, 0
		}
		return s
	}
	expect(t, built(t, "aws-dynamic", 25*time.Second, 90*time.Second, 1).run(1800, script),
		[]change{{180, 4}, {600 + 14*60, 1}})
}

func TestTheFastAlarmsTakeThreePointsOfTenSeconds(t *testing.T) {
	script := func(second int) see {
		s := see{backlog: 48, inFlight: 1, min: 1}
		if second >= 200 {
			s.backlog, s.inFlight = 0, 0
		}
		return s
	}
	// The low alarm stands after fifteen points, at second 340, and then acts once a minute. The warm-up of 300 s is
	// over at second 410: it begins when the last instance is in service, and the point of second 110 was the last to
	// see one coming.
	expect(t, built(t, "aws-static-fast", 25*time.Second, 90*time.Second, 1).run(1200, script),
		[]change{{30, 4}, {460, 1}})
}

func TestAStandingAlarmActsOnceAMinute(t *testing.T) {
	script := func(second int) see {
		s := see{backlog: 48, inFlight: 1, min: 1}
		if second > 32 {
			s.backlog = 96
		}
		return s
	}
	expect(t, built(t, "aws-static-fast", 25*time.Second, 90*time.Second, 1).run(100, script),
		[]change{{30, 4}, {90, 8}})
}

func TestAnAlarmForgetsOnceAllItsPointsAreMissing(t *testing.T) {
	for _, row := range []struct {
		name  string
		until int // the backlog is unknown from second 150 to here
		want  []change
	}{
		{"two are missing, at 180 and 240: the alarm stands and acts when a point comes", 240, []change{{300, 4}}},
		{"three are missing: the same", 300, []change{{360, 4}}},
		{"four are missing: the same", 360, []change{{420, 4}}},
		{"five are missing, all that it looks at: three more are needed", 420, []change{{600, 4}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			expect(t, built(t, "aws-static", 25*time.Second, 90*time.Second, 1).run(700, func(second int) see {
				return see{backlog: 48, inFlight: 1, min: 1, noBacklog: second > 150 && second <= row.until}
			}), row.want)
		})
	}
}

func TestTheDynamicTargetIsReadOnceAMinute(t *testing.T) {
	p, _ := Find("aws-dynamic-fast")
	w := newWorld(p.Build(p.Default, 25*time.Second), p.Memory, time.Hour, 1)
	script := func(second int) see {
		s := see{backlog: 48, inFlight: 1, mpd: 25 * time.Second, min: 1}
		if second > 32 {
			s.mpd = 50 * time.Second
		}
		return s
	}
	// The first point, at second 10, reads it; so the next reading is at second 70.
	expect(t, w.run(100, script), []change{{30, 4}, {70, 8}})
}

func TestStepScalingByItsSteps(t *testing.T) {
	for _, row := range []struct {
		name   string
		recent muster.Recent
		see    see
		want   int
	}{ // threshold: 300 s / 25 s = 12 per instance
		{"at the threshold: half as many more", points(1, 0), see{backlog: 120, serving: 10}, 15},
		{"at twice the threshold: twice as many", points(1, 0), see{backlog: 240, serving: 10}, 20},
		{"at four times the threshold: four times as many", points(1, 0), see{backlog: 480, serving: 10}, 40},
		{"less than one is one", points(1, 0), see{backlog: 12, serving: 1}, 2},
		{"at the first point the alarm does not stand", points(0, 0), see{backlog: 480, serving: 10}, 10},
		{"five on their way count, and are no part of what is increased", points(2, 0),
			see{backlog: 240, serving: 10, coming: 5}, 20},
		{"enough on their way", points(2, 0), see{backlog: 240, serving: 10, coming: 10}, 20},
		{"half the threshold: a quarter fewer, rounded towards zero", points(0, 1), see{backlog: 60, serving: 10}, 8},
		{"nearly nothing: half", points(0, 1), see{backlog: 1, serving: 10}, 5},
		{"between the thresholds", points(1, 1), see{backlog: 100, serving: 10}, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, _ := Find("aws-step")
			d := p.Build(1, 25*time.Second).Decide(row.see.at(t0), row.recent)
			if d.Desired != row.want {
				t.Errorf("desired %d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}
