package autoscaling_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsautoscaling "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/smithy-go/middleware"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/worker/autoscaling"
)

const instance = "i-0123456789abcdef0"

// service speaks the part of Auto Scaling's query protocol that a hook needs.
type service struct {
	t     *testing.T
	group string            // of the instance; empty for none
	hooks map[string]string // the transition of each
	// faults has an error code and message for an action.
	faults map[string][2]string

	mu      sync.Mutex
	actions []string
	// protection is what SetInstanceProtection asked for, on or off.
	protection []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Form.Get("Version") != "2011-01-01" ||
		r.Header.Get("Authorization") == "" {
		s.t.Errorf("found %v (%v)", r.Form, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	action := r.Form.Get("Action")
	s.actions = append(s.actions, action)
	w.Header().Set("Content-Type", "text/xml")
	if fault, ok := s.faults[action]; ok {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `<ErrorResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId></ErrorResponse>`, fault[0], fault[1])
		return
	}
	fmt.Fprintf(w, `<%[1]sResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><%[1]sResult>%[2]s</%[1]sResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></%[1]sResponse>`, action, s.result(action, r.Form))
}

func (s *service) result(action string, form url.Values) string {
	switch action {
	case "DescribeAutoScalingInstances":
		if form.Get("InstanceIds.member.1") != instance {
			s.t.Errorf("found %v", form)
		}
		if s.group == "" {
			return "<AutoScalingInstances/>"
		}
		return "<AutoScalingInstances><member><InstanceId>" + instance + "</InstanceId><AutoScalingGroupName>" +
			s.group + "</AutoScalingGroupName><LifecycleState>Terminating:Wait</LifecycleState></member></AutoScalingInstances>"
	case "DescribeLifecycleHooks":
		text := ""
		for name, transition := range s.hooks {
			if wanted := form.Get("LifecycleHookNames.member.1"); wanted == "" || wanted == name {
				text += "<member><AutoScalingGroupName>" + s.group + "</AutoScalingGroupName><LifecycleHookName>" +
					name + "</LifecycleHookName><LifecycleTransition>" + transition +
					"</LifecycleTransition><HeartbeatTimeout>300</HeartbeatTimeout></member>"
			}
		}
		return "<LifecycleHooks>" + text + "</LifecycleHooks>"
	case "CompleteLifecycleAction", "RecordLifecycleActionHeartbeat":
		if form.Get("InstanceId") != instance || form.Get("AutoScalingGroupName") != "workers" ||
			form.Get("LifecycleHookName") != "finish" {
			s.t.Errorf("found %v", form)
		}
		if action == "CompleteLifecycleAction" && form.Get("LifecycleActionResult") != "CONTINUE" {
			s.t.Errorf("found the result %q", form.Get("LifecycleActionResult"))
		}
	case "SetInstanceProtection":
		on, known := map[string]string{"true": "on", "false": "off"}[form.Get("ProtectedFromScaleIn")]
		if form.Get("InstanceIds.member.1") != instance || form.Get("AutoScalingGroupName") != s.group || !known {
			s.t.Errorf("found %v", form)
		}
		s.protection = append(s.protection, on)
	default:
		s.t.Errorf("found the action %s", action)
	}
	return ""
}

const ends, begins = "autoscaling:EC2_INSTANCE_TERMINATING", "autoscaling:EC2_INSTANCE_LAUNCHING"

func serve(t *testing.T, o autoscaling.Options) (*service, *autoscaling.Hook) {
	t.Helper()
	s := &service{t: t, group: "workers", hooks: map[string]string{"finish": ends, "warm": begins},
		faults: map[string][2]string{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	o.Instance = instance
	h, err := autoscaling.New(awsautoscaling.New(awsautoscaling.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		APIOptions:  []func(*middleware.Stack) error{awsapi.PlainBody},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

func TestTheHookIsFoundOnceAndThenExtendedAndCompleted(t *testing.T) {
	for _, row := range []struct {
		name string
		o    autoscaling.Options
		want string
	}{
		{"nothing is named", autoscaling.Options{}, "DescribeAutoScalingInstances DescribeLifecycleHooks"},
		{"the group is", autoscaling.Options{Group: "workers"}, "DescribeLifecycleHooks"},
		{"both are", autoscaling.Options{Group: "workers", Name: "finish"}, "DescribeLifecycleHooks"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, h := serve(t, row.o)
			for range 2 {
				if kept, err := h.Extend(t.Context()); err != nil || kept != 5*time.Minute {
					t.Errorf("kept for %s (%v), want 5m", kept, err)
				}
			}
			if err := h.Complete(t.Context()); err != nil {
				t.Error(err)
			}
			want := row.want + " RecordLifecycleActionHeartbeat RecordLifecycleActionHeartbeat CompleteLifecycleAction"
			if got := strings.Join(s.actions, " "); got != want {
				t.Errorf("found %s, want %s", got, want)
			}
		})
	}
}

func TestWhichHookMustBePlain(t *testing.T) {
	for _, row := range []struct {
		name  string
		o     autoscaling.Options
		hooks map[string]string
		group string
		fault string
	}{
		{"no group", autoscaling.Options{}, nil, "", "found none, a lifecycle hook needs one"},
		{"no hook for the end", autoscaling.Options{}, map[string]string{"warm": begins}, "workers",
			"found 0 for terminating instances ()"},
		{"several", autoscaling.Options{}, map[string]string{"finish": ends, "another": ends}, "workers",
			"found 2 for terminating instances"},
		{"several, one of them named", autoscaling.Options{Name: "finish"},
			map[string]string{"finish": ends, "another": ends}, "workers", ""},
		{"another is named", autoscaling.Options{Name: "warm"}, map[string]string{"warm": begins}, "workers",
			"found 0 for terminating instances"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, h := serve(t, row.o)
			s.hooks, s.group = row.hooks, row.group
			_, err := h.Extend(t.Context())
			if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
				t.Errorf("found the error %v, want %q", err, row.fault)
			}
		})
	}
}

func TestWhenNothingWaitsAnyMoreTheHookIsComplete(t *testing.T) {
	for _, row := range []struct {
		code, message string
		complete      bool
	}{
		{"ValidationError", "No active Lifecycle Action found with instance ID " + instance, true},
		{"ValidationError", "the group is not there", false},
		{"ResourceContention", "another update is pending", false},
	} {
		s, h := serve(t, autoscaling.Options{})
		s.faults["CompleteLifecycleAction"] = [2]string{row.code, row.message}
		s.faults["RecordLifecycleActionHeartbeat"] = [2]string{row.code, row.message}
		if err := h.Complete(t.Context()); (err == nil) != row.complete {
			t.Errorf("%s %s: found the error %v", row.code, row.message, err)
		}
		if _, err := h.Extend(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "the lifecycle hook finish of the group workers") {
			t.Errorf("%s %s: a heartbeat gave the error %v", row.code, row.message, err)
		}
	}
}

func TestAHookThatWasNotFoundIsLookedForAgain(t *testing.T) {
	s, h := serve(t, autoscaling.Options{})
	s.faults["DescribeLifecycleHooks"] = [2]string{"Throttling", "Rate exceeded"}
	if _, err := h.Extend(t.Context()); err == nil {
		t.Error("found a hook that was not told")
	}
	delete(s.faults, "DescribeLifecycleHooks")
	if _, err := h.Extend(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestInstancesThatCannotBe(t *testing.T) {
	for _, o := range []autoscaling.Options{{}, {Instance: "0123"}, {Instance: instance + "00"},
		{Instance: instance, Group: strings.Repeat("g", 256)}} {
		if _, err := autoscaling.New(nil, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
