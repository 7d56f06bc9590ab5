package asg_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/source/sqs"
)

func TestAQuietFleetWritesNothingAndReadsSixTimesAMinuteAtMost(t *testing.T) {
	reads := []string{"GetQueueAttributes", "DescribeAutoScalingGroups", "DescribeInstanceRefreshes",
		"DescribeScalingActivities", "DescribeWarmPool", "GetMetricData"}
	runPlant(t, day{spec: policy.Spec{Name: "dynamic-backlog", Processing: 25 * time.Second}, messages: 20,
		mpd: 25 * time.Second}, func(p *plant) {
		count := func(actions []string) (n int) {
			for _, a := range actions {
				n += p.cloud.Calls(a)
			}
			return n
		}
		readBefore, writtenBefore := count(reads), stage{t: p.t, cloud: p.cloud}.writes()
		time.Sleep(30 * time.Minute)
		read, written := count(reads)-readBefore, stage{t: p.t, cloud: p.cloud}.writes()-writtenBefore
		if read > 6*30 || read < 30 || written != 0 {
			p.t.Errorf("a quiet fleet read %d times in half an hour and wrote %d times; allowed are 180 reads and no "+
				"write", read, written)
		}
		p.t.Logf("%.1f reads a minute", float64(read)/30)
	})
}

func TestALaunchNeedNotWaitUntilManyHaveEnded(t *testing.T) {
	inTime(t, func(in *groupapi.CreateGroup) { in.MaxSize = num(200) }, asg.Options{Launch: asg.BySize, Max: 200},
		func(s stage) {
			s.must(s.order(100, "a"))
			time.Sleep(2 * time.Minute)
			ids := s.living()
			s.cloud.Do(func(w *model.World) { // by far not all calls get through
				w.Inject(account.Injection{Trouble: account.Throttled, Action: "TerminateInstanceInAutoScalingGroup",
					Share: 0.3})
			})
			ended, launched := make(chan error, 1), make(chan error, 1)
			go func() { ended <- s.fleet.End(s.t.Context(), ids[:90]) }()
			time.Sleep(time.Millisecond)
			go func() {
				launched <- s.fleet.SetDesired(s.t.Context(), muster.Order{ID: "more", Desired: 110, Total: 110})
			}()
			if err := <-launched; err != nil {
				s.t.Errorf("SetDesired: %v", err)
			}
			if n := s.cloud.Calls("TerminateInstanceInAutoScalingGroup"); n > 60 {
				s.t.Errorf("the launch waited for %d calls that end instances", n)
			}
			<-ended // some may have failed for good; the controller asks again
		})
}

// many answers for any number of queues and groups, all of them empty, and counts the calls of each second.
type many struct {
	mu      sync.Mutex
	seconds map[int64]int
	actions map[string]int
}

func (m *many) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seconds[time.Now().Unix()]++
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "GetQueueAttributes") {
		m.actions["GetQueueAttributes"]++
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprint(w, `{"Attributes":{"ApproximateNumberOfMessages":"0","ApproximateNumberOfMessagesNotVisible":"0","ApproximateNumberOfMessagesDelayed":"0"}}`)
		return
	}
	if strings.Contains(r.URL.Path, "GetMetricData") {
		m.actions["GetMetricData"]++
		(&mustertest.Metrics{}).ServeHTTP(w, r)
		return
	}
	r.ParseForm()
	action := r.Form.Get("Action")
	m.actions[action]++
	fmt.Fprintf(w, `<%sResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><%sResult>`, action, action)
	if action == "DescribeAutoScalingGroups" {
		fmt.Fprint(w, "<AutoScalingGroups>")
		for i := 1; r.Form.Has(fmt.Sprintf("AutoScalingGroupNames.member.%d", i)); i++ {
			fmt.Fprintf(w, "<member><AutoScalingGroupName>%s</AutoScalingGroupName><MinSize>0</MinSize><MaxSize>10</MaxSize><DesiredCapacity>0</DesiredCapacity></member>",
				r.Form.Get(fmt.Sprintf("AutoScalingGroupNames.member.%d", i)))
		}
		fmt.Fprint(w, "</AutoScalingGroups>")
	}
	fmt.Fprintf(w, "</%sResult></%sResponse>", action, action)
}

func TestAThousandFleetsStayWithinTheLimitOfCalls(t *testing.T) {
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		const fleets, poll = 1000, 10 * time.Second
		aws := &many{seconds: map[int64]int{}, actions: map[string]int{}}
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: aws}})
		if err != nil {
			t.Fatal(err)
		}
		queues := sqs.NewQueues(sqs.Options{Account: account, Metrics: awsmetrics.NewReader(account)})
		groups := asg.NewGroups(account)
		begun := time.Now()
		var late sync.Map
		var all sync.WaitGroup
		for i := range fleets {
			source, err := queues.Queue(fmt.Sprintf("https://sqs.eu-west-1.amazonaws.com/123456789012/queue-%d", i),
				poll)
			if err != nil {
				t.Fatal(err)
			}
			fleet, err := groups.Fleet(asg.Options{Group: fmt.Sprintf("group-%d", i), Max: 10})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for range int(7 * time.Minute / poll) {
					q, err := source.Observe(t.Context())
					l, listErr := fleet.Members(t.Context())
					// Once all have begun, what is seen is never as old as to be unknown.
					if now := time.Now(); now.Sub(begun) > 5*time.Minute &&
						(err != nil || listErr != nil || now.Sub(q.InFlight.At) > 90*time.Second ||
							now.Sub(l.At) > 90*time.Second) {
						late.Store(i, fmt.Sprint(err, listErr, now.Sub(q.InFlight.At), now.Sub(l.At)))
					}
					time.Sleep(poll)
				}
			})
		}
		all.Wait()
		late.Range(func(i, why any) bool {
			t.Errorf("fleet %v: %v", i, why)
			return false
		})
		total, most := 0, 0
		for at, n := range aws.seconds {
			if most = max(most, n); at >= begun.Add(3*time.Minute).Unix() {
				total += n
			}
		}
		if most > awsapi.DefaultPerSecond+awsapi.DefaultBurst {
			t.Errorf("%d calls were made in one second, allowed are the burst and a second's share", most)
		}
		perMinute := float64(total) / 4
		t.Logf("1000 quiet fleets make %.0f calls a minute: %v in all", perMinute, aws.actions)
		if perMinute > 6*fleets || perMinute > 60*awsapi.DefaultPerSecond {
			t.Errorf("1000 quiet fleets make %.0f calls a minute", perMinute)
		}
	})
}
