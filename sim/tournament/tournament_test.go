package tournament

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/threshold"
	"github.com/muster-scale/muster/sim/worlds"
)

// fakePlay is a play of deadline, formula and s3 on three worlds, with losses in the order of the policies for each
// world; a loss of 0 is a run that was not answered.
func fakePlay(losses ...[3]float64) Drawn {
	d := Drawn{timeout: time.Minute}
	for _, name := range []string{"deadline", "formula", "s3"} {
		d.contenders = append(d.contenders, contest.Contender{Name: name})
	}
	for i, row := range losses {
		w := worlds.World{
			Number:   uint64(i + 1),
			Shape:    worlds.Steady,
			Load:     2,
			Mean:     10,
			Boot:     60,
			Latency:  300,
			Slots:    1,
			Told:     "none",
			Messages: 100,
		}
		d.worlds = append(d.worlds, w)
		outcomes := make([]*worlds.Outcome, len(row))
		for k, loss := range row {
			if loss > 0 {
				outcomes[k] = &worlds.Outcome{
					World:         w.Number,
					Policy:        d.contenders[k].Name,
					Loss:          loss,
					WorkerSeconds: loss,
					InTime:        0.995,
					Launches:      7,
					Peak:          3,
				}
			}
		}
		d.outcomes = append(d.outcomes, outcomes)
	}
	return d
}

func TestTheFirstPolicyIsJudgedBesideTheOthers(t *testing.T) {
	bounds := fakePlay([3]float64{110, 100, 100})
	bounds.bounds = []limit.Bounds{{Prescient: limit.Bound{WorkerSeconds: 100}}}
	alone := fakePlay([3]float64{100, 0, 0})
	alone.contenders = alone.contenders[:1]
	for _, x := range []struct {
		name string
		play Drawn
		want string
	}{
		{"best everywhere", fakePlay([3]float64{50, 100, 200}, [3]float64{50, 200, 100}),
			`{"policy":"deadline","worlds":2,"unanswered":0,"regret_free":1,"loss_over_best":0.5,"loss_over_formula":0.354}`},
		{"a tenth more than the best is no regret yet", fakePlay([3]float64{100, 90, 200}),
			`{"policy":"deadline","worlds":1,"unanswered":0,"regret_free":1,"loss_over_best":1.111,"loss_over_formula":1.111}`},
		{"a little more is", fakePlay([3]float64{100, 89, 200}),
			`{"policy":"deadline","worlds":1,"unanswered":0,"regret_free":0,"loss_over_best":1.124,"loss_over_formula":1.124}`},
		{"a world that the policy did not answer is not free of regret",
			fakePlay([3]float64{0, 100, 200}, [3]float64{100, 100, 100}),
			`{"policy":"deadline","worlds":2,"unanswered":1,"regret_free":0.5,"loss_over_best":1,"loss_over_formula":1}`},
		{"another one that did not is left out", fakePlay([3]float64{100, 0, 50}),
			`{"policy":"deadline","worlds":1,"unanswered":1,"regret_free":0,"loss_over_best":2}`},
		{"with lower bounds", bounds,
			`{"policy":"deadline","worlds":1,"unanswered":0,"regret_free":1,"loss_over_best":1.1,"loss_over_formula":1.1,"cost_over_bound":1.1}`},
		{"alone", alone, `{"policy":"deadline","worlds":1,"unanswered":0}`},
	} {
		s := x.play.summary()
		s.Worst = nil
		for _, v := range []*float64{s.LossOverBest, s.LossOverReference, s.CostOverBound} {
			if v != nil {
				*v = float64(int(*v*1000+0.5)) / 1000
			}
		}
		if got, err := json.Marshal(s); err != nil || string(got) != x.want {
			t.Errorf("%s:\nfound %s, %v\nwant  %s", x.name, got, err, x.want)
		}
	}
}

func TestThePrintedWorlds(t *testing.T) {
	const want = `world 1: steady load 2 of 10 s (cv 0), boot 60 s (cv 0), objective 5 min at 0, slots 1, told none; 100 messages
  POLICY    LOSS  IN TIME  WORKER-SECONDS  LAUNCHES  PEAK
  deadline  100   99.5 %   100             7         3
  formula   90    99.5 %   90              7         3
  s3        not answered within 1m0s

deadline in 1 world
  not answered                       1 run
  no regret                          in 100 % of the worlds: no other policy's loss is a tenth smaller
  loss over the best other policy's  1.111, geometric mean
  loss over that of formula          1.111, geometric mean

its worst worlds
  WORLD  LOSS / BEST  BEST     WHAT IT IS
  1      1.11         formula  steady load 2 of 10 s (cv 0), boot 60 s (cv 0), objective 5 min at 0, slots 1, told none
`
	var out bytes.Buffer
	if err := fakePlay([3]float64{100, 90, 0}).Print(&out); err != nil || out.String() != want {
		t.Errorf("found\n%s%v\nwant\n%s", out.String(), err, want)
	}
	bounded := fakePlay([3]float64{100, 90, 110})
	bounded.bounds = []limit.Bounds{{Prescient: limit.Bound{WorkerSeconds: 80}}}
	out.Reset()
	if err := bounded.Print(&out); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"; 100 messages, lower bound 80 worker-seconds\n", "  PEAK  COST / BOUND\n",
		"  3     1.25\n", "cost over the lower bound          1.250, geometric mean\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the worlds with lower bounds do not say %q:\n%s", want, out.String())
		}
	}
}

func TestHowAPlayOfWorldsEnds(t *testing.T) {
	broken := fakePlay([3]float64{100, 100, 100})
	broken.outcomes[0][2].Faults = []string{"a message is lost"}
	for _, x := range []struct {
		name, threshold string
		play            Drawn
		end             end
		says            string
	}{
		{"well", "regret_free>=1", fakePlay([3]float64{100, 100, 100}), well, ""},
		{"with a missed threshold", "regret_free>=0.97", fakePlay([3]float64{100, 50, 100}), misses,
			"regret_free>=0.97 is missed, found 0"},
		{"without an answer", "regret_free>=0", fakePlay([3]float64{100, 100, 0}, [3]float64{0, 1, 1}), fails,
			"2 runs not answered within 1m0s: s3 in world 1, deadline in world 2"},
		{"without an answer and with a missed threshold", "regret_free>=1", fakePlay([3]float64{100, 50, 0}), fails,
			"regret_free>=1 is missed"},
		{"with a violated invariant", "regret_free>=0", broken, fails,
			"s3 in world 1: the simulator violated an invariant, please report it: a message is lost"},
	} {
		limits, err := threshold.Parse([]string{x.threshold}, threshold.Numbers(fullSummary()), "", "")
		if err != nil {
			t.Fatal(err)
		}
		checkEnd(t, x.name, x.play.Verdict(limits), x.end, x.says)
	}
}

func TestHowAPlayOfNamedWorldsEnds(t *testing.T) {
	world := worlds.Named{Name: "hard", Least: 0.99, MostPeak: 5}
	first, second := &scoring.Result{
		Policy:      "deadline",
		InTimeRatio: 0.99,
		PeakWorkers: 5,
	}, &scoring.Result{
		Policy:      "s3",
		InTimeRatio: 0.1,
		PeakWorkers: 50,
	}
	late := &scoring.Result{Policy: "deadline", InTimeRatio: 0.9, PeakWorkers: 6}
	for _, x := range []struct {
		name          string
		first, second *scoring.Result
		end           end
		says          string
	}{
		{"the second policy is not judged", first, second, well, ""},
		{"the first one is", late, second, misses,
			`deadline in "hard": 90 % in time, wanted is 99 %, a peak of 6 workers, allowed are 5`},
		{"one did not answer", first, nil, fails, `1 run not answered within 1m0s: s3 in "hard"`},
	} {
		play := Named{
			timeout:    time.Minute,
			world:      world,
			contenders: []contest.Contender{{Name: "deadline"}, {Name: "s3"}},
			results:    []*scoring.Result{x.first, x.second},
		}
		checkEnd(t, x.name, NamedVerdict([]Named{play}), x.end, x.says)
	}
}

// end is how a play may end.
type end string

const well, misses, fails end = "well", "misses a threshold", "fails"

func checkEnd(t *testing.T, name string, err error, want end, says string) {
	t.Helper()
	found := well
	if _, ok := errors.AsType[*threshold.MissedError](err); ok {
		found = misses
	} else if err != nil {
		found = fails
	}
	if found != want || want != well && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: it %s with %v, want that it %s with %q", name, found, err, want, says)
	}
}
