package asg_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// standIn answers LaunchInstances as a stand-in for AWS does that has not got it, and passes everything else on.
type standIn struct {
	next    http.Handler
	status  int
	body    string
	refused int
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if strings.Contains(string(body), "Action=LaunchInstances") {
		s.refused++
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(s.status)
		fmt.Fprint(w, s.body)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.next.ServeHTTP(w, r)
}

func TestWhereLaunchingByNameIsNotImplementedTheSizeIsSet(t *testing.T) {
	const answer = "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>"
	for _, row := range []struct {
		name, body string
		status     int
		once       bool // it is tried by name once, and never again
	}{
		{"an answer that says so", fmt.Sprintf(answer, "InternalFailure", "API action 'LaunchInstances' for service "+
			"'autoscaling' not yet implemented"), 501, true},
		{"a code that says so", fmt.Sprintf(answer, "NotImplemented", "no"), 400, true},
		{"an unknown action", fmt.Sprintf(answer, "InvalidAction", "Could not find operation LaunchInstances"), 400,
			true},
		{"a page of a program that failed", "<!doctype html><title>500 Internal Server Error</title>", 500, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			mustertest.AWSEnvironment(t)
			synctest.Test(t, func(t *testing.T) {
				server := fakeaws.New(model.New(model.Settings{Start: time.Now(), Region: "eu-west-1", Seed: 1}))
				server.Follow(time.Now)
				server.Do(func(w *model.World) {
					if _,
						err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{
						GroupSettings: groupapi.GroupSettings{
							AutoScalingGroupName: "web", MinSize: num(0), MaxSize: num(10),
							AvailabilityZones: []string{"eu-west-1a"},
							LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
						}}); err != nil {
						t.Fatal(err)
					}
				})
				in := &standIn{next: server, status: row.status, body: row.body}
				account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: in}})
				if err != nil {
					t.Fatal(err)
				}
				f, err := asg.NewGroups(account).Fleet(asg.Options{Group: "web", Max: 10})
				if err != nil {
					t.Fatal(err)
				}
				s := stage{t, server, f}
				s.must(s.order(2, "a", "b"))
				tried := in.refused
				if g := s.group(); g.DesiredCapacity != 2 || tried == 0 {
					t.Errorf("%d are desired after %d launches by name, want 2 after one at least", g.DesiredCapacity,
						tried)
				}
				time.Sleep(time.Minute)
				for total := 3; total <= 6; total++ {
					s.must(s.order(total, fmt.Sprint("c", total)))
					time.Sleep(time.Minute)
				}
				if g := s.group(); g.DesiredCapacity != 6 || len(s.living()) != 6 {
					t.Errorf("%d are desired and %d live, want 6", g.DesiredCapacity, len(s.living()))
				}
				if row.once && in.refused != tried {
					t.Errorf("it was tried by name %d times, want never again after the first %d", in.refused, tried)
				}
				if !row.once && in.refused > 3*tried {
					t.Errorf("it was tried by name %d times, want no more than three orders' worth of %d", in.refused,
						tried)
				}
			})
		})
	}
}

func TestAFaultOfAWSWhileLaunchingByNameSetsTheSizeAndIsNotForGood(t *testing.T) {
	inTime(t, nil, asg.Options{}, func(s stage) {
		s.cloud.Do(func(w *model.World) {
			w.Inject(account.Injection{Trouble: account.InternalFailure, Action: "LaunchInstances"})
		})
		s.must(s.order(2, "a", "b"))
		if g := s.group(); g.DesiredCapacity != 2 {
			s.t.Errorf("%d are desired, want 2", g.DesiredCapacity)
		}
		s.cloud.Do(func(w *model.World) { w.ClearInjections() })
		time.Sleep(2 * time.Minute)
		before := s.cloud.Calls("SetDesiredCapacity")
		s.must(s.order(3, "c"))
		time.Sleep(2 * time.Minute)
		if n := len(s.living()); n != 3 || s.cloud.Calls("SetDesiredCapacity") != before {
			s.t.Errorf("%d live, want 3 and the third launched by name", n)
		}
	})
}

func TestAContentionIsNoReasonToLeaveLaunchingByName(t *testing.T) {
	inTime(t, nil, asg.Options{}, func(s stage) {
		s.cloud.Do(func(w *model.World) {
			w.Inject(account.Injection{Trouble: account.Contention,
				Action: "LaunchInstances"})
		})
		if err := s.order(1, "a"); err == nil {
			s.t.Error("a contention is no error; want that the order is given again later")
		}
		s.cloud.Do(func(w *model.World) { w.ClearInjections() })
		time.Sleep(time.Minute)
		s.must(s.order(1, "a"))
		time.Sleep(time.Minute)
		if n := len(s.living()); n != 1 || s.cloud.Calls("SetDesiredCapacity") != 0 {
			s.t.Errorf("%d live after %d sizes that were set, want 1 launched by name", n,
				s.cloud.Calls("SetDesiredCapacity"))
		}
	})
}
