package endtoend_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/event/receiver"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	"github.com/muster-scale/muster/queue"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/sqsapi"
)

// This file measures the time from a message sent to the new desired count, in real time, next to an alarm of
// CloudWatch in virtual time. Each message adds one worker to the desired count, so every sample changes the size.

// roundsVariable is the number of rounds; a few without it. tools/bench sets it, and holds the goals: here the machine
// may be busy with other tests, so the test allows a hundred times more.
const roundsVariable = "MUSTER_REACTIONS"

// leastGain is how many times faster than the alarm a message must be followed even on a busy machine.
const leastGain = 10

func TestAMessageIsFollowedInMilliseconds(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(roundsVariable))
	if err != nil {
		n = 1
	}
	inside, alarms := reactInProcess(t, lanes*n), reactByAlarm(t)
	over, burst := reactOverHTTP(t, n)
	gain := float64(alarms.at(0.5)) / float64(over.at(0.5))
	t.Logf("result: %d and %d and %d samples: in process p50 %v p99 %v; over HTTP p50 %v p99 %v; in a burst p50 %v "+
		"p99 %v; alarm of one minute p50 %v; gain %.0f", len(inside), len(over), len(burst), inside.at(0.5),
		inside.at(0.99), over.at(0.5), over.at(0.99), burst.at(0.5), burst.at(0.99), alarms.at(0.5), gain)
	if gain < leastGain {
		t.Errorf("want a median at least %d times shorter than that of the alarm", leastGain)
	}
}

// times are measured times.
type times []time.Duration

// at returns a quantile: the smallest time that at least the share q does not exceed.
func (x times) at(q float64) time.Duration {
	slices.Sort(x)
	return x[max(0, int(q*float64(len(x))+0.999999)-1)].Round(10 * time.Microsecond)
}

// reacting runs an App, and ends it with the test.
func reacting(t *testing.T, text string, notify func(controller.Outcome)) *app.App {
	t.Helper()
	c, err := kinds.Parse("m.yaml", []byte("version: 1\nlisten: {queue: '127.0.0.1:0', api: '127.0.0.1:0'}\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	c.Data = t.TempDir()
	a, err := app.Open(t.Context(), c, app.Options{Ephemeral: true, Notify: notify})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = a.Close()
	})
	return a
}

// reached waits for a desired count of want or more, and returns the time since began.
func reached(t *testing.T, began time.Time, want int, desired <-chan int) time.Duration {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case n := <-desired:
			if n >= want {
				return time.Since(began)
			}
		case <-limit:
			t.Fatalf("the desired count did not reach %d within 20 s", want)
		}
	}
}

// reactInProcess sends messages to an embedded queue. Polls are an hour apart, so the queue itself wakes the fleet,
// whose decision is recorded.
func reactInProcess(t *testing.T, n int) (all times) {
	desired := make(chan int, 100)
	a := reacting(t, fmt.Sprintf("fleets: [{name: f, queue: q, max: %d, launches_per_hour: 100000, poll: 1h, "+
		"shadow: true, policy: {name: backlog-per-worker, acceptable: 1}}]", n+1),
		func(o controller.Outcome) { desired <- o.Decision.Desired })
	reached(t, time.Now(), 0, desired)
	alone := time.NewTicker(2 * controller.Gather) // a message alone, not one of a burst
	defer alone.Stop()
	for i := range n {
		<-alone.C
		began := time.Now()
		if _, err := a.Queues().Send(t.Context(), "q", []queue.Outgoing{{Body: "x"}}); err != nil {
			t.Fatal(err)
		}
		all = append(all, reached(t, began, i+1, desired))
	}
	return all
}

const (
	// lanes is how many groups are scaled next to each other.
	lanes = 8
	// inBurst is how many messages and events a lane gets in a round, each as soon as the one before was followed.
	inBurst = 3
	// roundEvery is the time between two rounds. The readings of a queue on SQS that events cause are a second apart
	// on average, and a round has one for each event and one more.
	roundEvery = 5 * time.Second
)

// reactOverHTTP sends messages and events by the SDK to the modelled AWS behind real HTTP, and waits until the desired
// capacity of a group arrives there. It returns the times of events alone, and of those that follow within a burst.
func reactOverHTTP(t *testing.T, n int) (alone, burst times) {
	mustertest.AWSEnvironment(t)
	world := model.New(model.Settings{Start: time.Now(), Region: region, Seed: 1, Rates: []account.Rate{}})
	text := "aws: {calls_per_second: 1000, queue_metrics: false}\nfleets:\n"
	desired := map[string]chan int{}
	for i := range lanes {
		group := fmt.Sprint("g", i)
		desired[group] = make(chan int, 100)
		_, err := world.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
			AutoScalingGroupName: group, MinSize: num(0), MaxSize: num(inBurst*n + 1), DesiredCapacity: num(0),
			AvailabilityZones: []string{region + "a"},
			LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: group}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	server := fakeaws.New(world)
	server.Follow(time.Now)
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	server.Messages(sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true}))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tellDesired(r, desired)
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.Close(); web.Close() })
	t.Setenv("AWS_ENDPOINT_URL", web.URL)
	// The names are those of AWS, so that the queues are read as late and rarely as those of AWS.
	at := strings.TrimSuffix(queueURL, "work")
	client, err := receiver.Client(t.Context(), at+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names(lanes), "events") {
		if _, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
			t.Fatal(err)
		}
		if name != "events" {
			text += fmt.Sprintf("  - {name: %s, queue: %q, max: %d, launches_per_hour: 100000, poll: 1h, asg: {group: "+
				"%s, region: %s, reports: none, launch: size}, policy: {name: backlog-per-worker, acceptable: 1}}\n",
				name, at+name, inBurst*n+1, name, region)
		}
	}
	a := reacting(t, fmt.Sprintf("events: [{queue: %q}]\n%s", at+"events", text), nil)
	rounds := time.NewTicker(roundEvery)
	defer rounds.Stop()
	for <-rounds.C; !a.Ready(); <-rounds.C {
	}
	send := func(name, body string) {
		url := at + name
		_, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		for _, name := range names(lanes) {
			for j := range inBurst {
				began, n := time.Now(), i*inBurst+j+1
				send(name, "x")
				send("events", fmt.Sprintf(`{"queue": %q, "kind": "scale-up", "id": "%d"}`, name, n))
				if took := reached(t, began, n, desired[name]); j == 0 {
					alone = append(alone, took)
				} else {
					burst = append(burst, took)
				}
			}
		}
		<-rounds.C
	}
	return alone, burst
}

// names are the names of n lanes.
func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("g", i))
	}
	return all
}

// tellDesired tells the desired capacity that a request sets.
func tellDesired(r *http.Request, desired map[string]chan int) {
	if strings.Contains(r.Header.Get("Authorization"), "/sqs/") {
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	form, err := url.ParseQuery(string(body))
	if n, bad := strconv.Atoi(form.Get("DesiredCapacity")); err == nil && bad == nil {
		desired[form.Get("AutoScalingGroupName")] <- n
	}
}

// metricDelay is the age at which a metric of SQS appears in CloudWatch: one to three minutes, by docs/aws.md.
const metricDelay = time.Minute

// reactByAlarm lets messages come at different seconds of a minute, and waits until an alarm on the backlog changes its
// state: with periods of one minute and one datapoint, the fastest that CloudWatch has for a metric of SQS.
func reactByAlarm(t *testing.T) (all times) {
	for second := range 60 {
		start := time.Date(2026, 11, 23, 17, 0, 0, 0, time.UTC)
		w := model.New(model.Settings{Start: start, Region: region, Seed: 1,
			Metrics: monitoring.MetricDelays{Service: metricDelay}})
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "q"})
		must(err)
		threshold := 0.0
		_, err = w.CloudWatch().PutMetricAlarm(monitoring.MetricAlarm{AlarmName: "a", Namespace: "AWS/SQS",
			MetricName: "ApproximateNumberOfMessagesVisible", Statistic: "Maximum", Period: num(60),
			Dimensions: []monitoring.Dimension{{Name: "QueueName", Value: "q"}}, EvaluationPeriods: num(1),
			Threshold: &threshold, ComparisonOperator: alarm.Above})
		must(err)
		sent := start.Add(10*time.Minute + time.Duration(second)*time.Second)
		w.Advance(sent)
		must(w.SQS().SetQueue("q", queues.QueueCounts{Visible: 1}, queues.Traffic{Sent: 1}))
		for at := sent; ; at = at.Add(time.Second) {
			if at.Sub(sent) > 20*time.Minute {
				t.Fatal("the alarm never changed its state")
			}
			w.Advance(at)
			list, err := w.CloudWatch().DescribeAlarms(monitoring.AlarmNames{})
			must(err)
			if list.MetricAlarms[0].StateValue == alarm.Alarm {
				all = append(all, at.Sub(sent))
				break
			}
		}
	}
	return all
}
