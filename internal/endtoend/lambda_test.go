package endtoend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	awscloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/function"
	"github.com/muster-scale/muster/app/handover"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/faketable"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/worker"
	published "github.com/muster-scale/muster/worker/cloudwatch"
)

// lambda is the environment of a function of Lambda in the world of a stage.
type lambda struct {
	s       *stage
	env     map[string]string
	history muster.History
}

// open opens a function with this environment.
func (l lambda) open(name string) *function.Function {
	l.s.t.Helper()
	f, err := function.New(l.s.t.Context(), function.Options{
		Lookup: func(v string) (string, bool) {
			if v == function.VariableFunction {
				return name, true
			}
			text, ok := l.env[v]
			return text, ok
		},
		HTTP: mustertest.InProcess{Handler: l.s.services}, Logger: slog.New(slog.DiscardHandler), History: l.history,
	})
	if err != nil {
		l.s.t.Fatal(err)
	}
	return f
}

// invoke invokes a function as Lambda does, and decodes its answer.
func invoke[T any](s *stage, f *function.Function, payload string) (answer T) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer stop()
	text, err := f.Invoke(ctx, []byte(payload))
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		s.t.Errorf("%s: %v", text, err)
	}
	return answer
}

// byItself starts the workers of the group, without a loop: functions size it.
func (s *stage) byItself() {
	s.members = func(w *model.World) []string { return instances(w, "workers") }
	if s.destinations == nil {
		s.destinations = []worker.Destination{}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() { s.attend(ctx) })
}

// table returns a history in a table of DynamoDB.
func (s *stage) table() muster.History {
	s.t.Helper()
	h, err := dynamohistory.New(faketable.New("stream", "element"), "history")
	if err != nil {
		s.t.Fatal(err)
	}
	s.history = h
	return h
}

// minutes lets time pass, and calls each once a minute.
func (s *stage) minutes(n int, each func()) {
	for range n {
		each()
		pass(time.Minute)
	}
}

const dynamicTarget = `
version: 1
fleets:
  - name: work
    queue: ` + queueURL + `
    objective: {latency: 300s}
    max: 20
    policy: {name: dynamic-backlog, acceptable: 12}
    metrics: {processing: {namespace: App, metric: MPD, dimensions: [Fleet=work]}}
    asg: {group: workers, reports: none}
    delegate: {change: 20}
`

// The article on a dynamic target with its two functions: one publishes the backlog per instance once a minute, the
// other sets the target by the mean processing duration that the workers publish. AWS sizes the group.
func TestTwoFunctionsKeepADynamicTarget(t *testing.T) {
	rows := []struct {
		takes     time.Duration
		target    float64
		instances int
	}{{25 * time.Second, 12, 4}, {50 * time.Second, 6, 8}}
	for _, row := range rows {
		t.Run(fmt.Sprint(row.takes), func(t *testing.T) {
			onAWS(t, func(s *stage) {
				s.unrecorded, s.spared, s.takes = true, true, row.takes
				s.group("workers", 20)
				cfg, err := s.account.Region(region)
				if err != nil {
					s.t.Fatal(err)
				}
				sink, err := published.New(awscloudwatch.NewFromConfig(cfg),
					published.Options{Namespace: "App", Fleet: "work"})
				if err != nil {
					s.t.Fatal(err)
				}
				s.destinations = []worker.Destination{{Sink: sink, Name: "CloudWatch", Every: time.Minute}}
				s.byItself()
				l := lambda{s: s, env: map[string]string{function.VariableConfig: dynamicTarget}}
				metric, target := l.open("publish-metric"), l.open("set-target")
				most := 0
				both := func() {
					invoke[function.Published](s, metric, `{"detail-type": "Scheduled Event"}`)
					invoke[function.Published](s, target, `{}`)
					most = max(most, s.serving())
				}
				s.minutes(3, both)
				s.send(50) // the durations become known by these
				s.minutes(40, both)
				if left := s.line.left(); left != 0 {
					s.t.Fatalf("%d messages are left", left)
				}
				if got := s.target(); got != row.target {
					s.t.Errorf("the target is %g, want %g", got, row.target)
				}
				most = 0
				s.send(50)
				s.minutes(40, both)
				if most < row.instances || most > row.instances+2 || s.line.left() != 0 {
					s.t.Errorf("at most %d instances worked and %d messages are left, want about %d and none", most,
						s.line.left(), row.instances)
				}
				for _, action := range []string{"SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup"} {
					if n := s.cloud.Calls(action); n != 0 {
						s.t.Errorf("%s was called %d times although AWS decides", action, n)
					}
				}
				one := invoke[function.Published](s, metric, `{}`).Fleets
				if len(one) != 1 || one[0].Backlog == nil || *one[0].Backlog != 0 || handover.Failed(one) != nil {
					s.t.Errorf("found %+v, want the backlog 0 of one fleet", one)
				}
			})
		})
	}
}

const steppedGroup = `
version: 1
fleets:
  - name: work
    queue: ` + queueURL + `
    objective: {latency: 300s}
    max: 20
    policy: deadline
    workers: {boot: 1m}
    asg: {group: workers, reports: none}
    reports_from: dynamodb:reports
`

func TestAStepAMinuteSizesAGroup(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.unrecorded, s.spared = false, true
		s.group("workers", 20)
		s.unanswered()
		s.byItself()
		l := lambda{s: s, env: map[string]string{function.VariableConfig: steppedGroup}, history: s.table()}
		step := l.open("step")
		each := func() { invoke[function.Steps](s, step, `{}`) }
		s.minutes(2, each)
		s.send(40)
		most := 0
		for minute := range 12 {
			s.minutes(1, each)
			most = max(most, s.serving())
			if minute == 4 {
				step = l.open("step") // a cold start: what counts is in the history
			}
		}
		if most < 4 || s.line.left() != 0 {
			s.t.Errorf("at most %d instances worked and %d messages are left, want at least 4 and none", most,
				s.line.left())
		}
		s.minutes(30, each)
		if n := s.serving(); n != 0 {
			s.t.Errorf("%d instances are left, want none", n)
		}
	})
}

// race is a history whose Begin waits until two callers have begun.
type race struct {
	muster.History
	begun *sync.WaitGroup
}

func (h race) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	at, err := h.History.Begin(ctx, fleet)
	h.begun.Done()
	h.begun.Wait()
	return at, err
}

func TestOfTwoStepsAtOnceOneWrites(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.spared = true
		s.group("workers", 20)
		s.byItself()
		s.send(40)
		var begun, ended sync.WaitGroup
		begun.Add(2)
		l := lambda{s: s, env: map[string]string{function.VariableConfig: steppedGroup},
			history: race{s.table(), &begun}}
		elsewhere := make(chan bool, 2)
		for range 2 {
			ended.Go(func() {
				all := invoke[function.Steps](s, l.open("step"), `{}`).Fleets
				elsewhere <- len(all) == 1 && all[0].Elsewhere
			})
		}
		ended.Wait()
		if a, b := <-elsewhere, <-elsewhere; a == b {
			s.t.Errorf("both invocations answered elsewhere=%t, want one", a)
		}
		sized := s.cloud.Calls("SetDesiredCapacity") + s.cloud.Calls("LaunchInstances")
		if sized != 1 {
			s.t.Errorf("the group was sized %d times, want once", sized)
		}
	})
}

func TestAFunctionThatCannotWorkSaysWhy(t *testing.T) {
	mustertest.AWSEnvironment(t)
	reported := strings.Replace(steppedGroup, ", reports: none", "", 1)
	for want, env := range map[string]map[string]string{
		`found MUSTER_FUNCTION="", allowed are`:     {},
		"set MUSTER_HISTORY to dynamodb:TABLE":      {"MUSTER_FUNCTION": "step", "MUSTER_CONFIG": steppedGroup},
		"found no configuration: set MUSTER_CONFIG": {"MUSTER_FUNCTION": "step"},
		`found no fleet "x"`: {"MUSTER_FUNCTION": "step", "MUSTER_CONFIG": steppedGroup,
			"MUSTER_FLEETS": "x"},
		"has no scaling policy to set":             {"MUSTER_FUNCTION": "set-target", "MUSTER_CONFIG": steppedGroup},
		"found no fleet with asg and reports_from": {"MUSTER_FUNCTION": "terminate", "MUSTER_CONFIG": dynamicTarget},
		"reports": {"MUSTER_FUNCTION": "publish-metric", "MUSTER_CONFIG": reported},
		`found MUSTER_TREES="trees.db", allowed is dynamodb:TABLE`: {"MUSTER_FUNCTION": "step",
			"MUSTER_CONFIG": steppedGroup, "MUSTER_HISTORY": "dynamodb:history", "MUSTER_TREES": "trees.db"},
		`found MUSTER_HISTORY="history.db", allowed is dynamodb:TABLE`: {"MUSTER_FUNCTION": "step",
			"MUSTER_CONFIG": steppedGroup, "MUSTER_HISTORY": "history.db"},
		`found MUSTER_COUNT="many", allowed is a num`: {"MUSTER_FUNCTION": "send", "MUSTER_COUNT": "many"},
	} {
		_, err := function.New(t.Context(), function.Options{
			Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found the error %v, want one with %q", err, want)
		}
	}
}
