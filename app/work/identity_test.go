package work

import (
	"context"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
)

func TestWhichMemberAWorkerRunsOn(t *testing.T) {
	agent, imds := mustertest.NewECSAgent(time.Now), mustertest.NewIMDS(time.Now)
	tasks, metadata := httptest.NewServer(agent), httptest.NewServer(imds)
	defer tasks.Close()
	defer metadata.Close()
	task, instance := agent.Environment(tasks.URL), map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL}
	both := map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL,
		"ECS_CONTAINER_METADATA_URI_V4": task["ECS_CONTAINER_METADATA_URI_V4"]}
	const arn = "0123456789abcdef0123456789abcdef"
	for _, row := range []struct {
		name, given string
		env         map[string]string
		want        string
	}{
		{"one that is named", "m1", both, "m1"},
		{"a task", "auto", task, arn},
		{"an instance", "auto", instance, "i-0123456789abcdef0"},
		{"a task on an instance: the task", "auto", both, arn},
		{"its fleet says it", "auto", map[string]string{"MUSTER_MEMBER": "jobs.1.1",
			"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL}, "jobs.1.1"},
		{"neither: host and process", "auto", nil, worker.DefaultMember()},
		{"an instance that forbids to ask", "auto", map[string]string{"AWS_EC2_METADATA_DISABLED": "true",
			"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL}, worker.DefaultMember()},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := Placement{getenv: func(name string) string { return row.env[name] },
				readFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }}
			if got, err := s.member(t.Context(), row.given); err != nil || got != row.want {
				t.Errorf("found %q (%v), want %q", got, err, row.want)
			}
		})
	}
}

func TestTheLifecycleHookNeedsAnInstance(t *testing.T) {
	imds := httptest.NewServer(mustertest.NewIMDS(time.Now))
	defer imds.Close()
	instance := map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": imds.URL}
	for _, row := range []struct {
		name, hook, group, notices string
		env                        map[string]string
		hooked                     bool
		fault                      string
	}{
		{"none", "", "", "auto", nil, false, ""},
		{"the only one", "auto", "", "auto", instance, true, ""},
		{"by name", "finish", "workers", "ec2", instance, true, ""},
		{"a group alone", "", "workers", "auto", instance, false, "without --lifecycle-hook"},
		{"a laptop", "auto", "", "auto", nil, false, "no EC2 instance"},
		{"an instance that looks for no notices", "auto", "", "none", instance, false, "no EC2 instance"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := Placement{Hook: row.hook, Group: row.group, Notices: row.notices,
				getenv:   func(name string) string { return row.env[name] },
				readFile: func(string) ([]byte, error) { return nil, os.ErrNotExist }}
			var o worker.Options
			err := s.lifecycle(t.Context(), &o, func(context.Context) (aws.Config, error) { return aws.Config{}, nil },
				t.TempDir())
			if (o.Hook != nil) != row.hooked || (err == nil) != (row.fault == "") || err != nil &&
				!strings.Contains(err.Error(), row.fault) {
				t.Errorf("found a Hook: %t (%v), want %t, %q", o.Hook != nil, err, row.hooked, row.fault)
			}
		})
	}
}

func TestTheProtectionOfAnInstanceNeedsOne(t *testing.T) {
	imds := httptest.NewServer(mustertest.NewIMDS(time.Now))
	defer imds.Close()
	there := map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": imds.URL}
	for _, row := range []struct {
		name  string
		s     Placement
		env   map[string]string
		idle  time.Duration
		fault string
	}{
		{"an instance", Placement{Notices: "auto"}, there, time.Minute, ""},
		{"its group is named", Placement{Notices: "auto", Group: "workers"}, there, time.Minute, ""},
		{"it looks for no notices", Placement{Notices: "none"}, there, time.Minute, ""},
		{"it has a hook besides", Placement{Notices: "auto", Hook: "auto"}, there, time.Minute, ""},
		{"a laptop", Placement{Notices: "auto"}, nil, time.Minute, "no EC2 instance"},
		{"a worker that is never idle", Placement{Notices: "auto"}, there, 0, "found no --idle"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := row.s
			s.Protection = protectInstance
			s.getenv = func(name string) string { return row.env[name] }
			s.readFile = func(string) ([]byte, error) { return nil, os.ErrNotExist }
			o := worker.Options{IdleStop: row.idle}
			configure := func(context.Context) (aws.Config, error) { return aws.Config{}, nil }
			err := s.Apply(&o, false)
			if err == nil {
				err = s.lifecycle(t.Context(), &o, configure, t.TempDir())
			}
			if (o.Protection != nil) != (row.fault == "") || (err == nil) != (row.fault == "") ||
				err != nil && !strings.Contains(err.Error(), row.fault) {
				t.Errorf("found a Protection: %t (%v), want %q", o.Protection != nil, err, row.fault)
			}
			if (o.Hook != nil) != (s.Hook != "") {
				t.Errorf("found a Hook: %t", o.Hook != nil)
			}
		})
	}
}
