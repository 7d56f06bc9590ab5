package work

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/placement"
)

func TestWhereAWorkerLooksForItsEnd(t *testing.T) {
	fargate := map[string]string{"ECS_AGENT_URI": "http://a", "ECS_CONTAINER_METADATA_URI_V4": "http://m",
		"AWS_EXECUTION_ENV": "AWS_ECS_FARGATE"}
	onHost := map[string]string{"ECS_AGENT_URI": "http://a", "ECS_CONTAINER_METADATA_URI_V4": "http://m",
		"AWS_EXECUTION_ENV": "AWS_ECS_EC2"}
	off := map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}
	nitro := map[string]string{"/sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}
	xen := map[string]string{"/sys/class/dmi/id/sys_vendor": "Xen\n",
		"/sys/hypervisor/uuid": "ec2e1916-9099-7caf-fd21-012345abcdef\n"}
	laptop := map[string]string{"/sys/class/dmi/id/sys_vendor": "LENOVO\n"}
	for _, row := range []struct {
		name, notices, protection string
		env, files                map[string]string
		want                      string
	}{
		{"a laptop", "auto", "auto", nil, laptop, "[] protection false grace 0s"},
		{"anything else", "auto", "auto", nil, nil, "[] protection false grace 0s"},
		{"an instance", "auto", "auto", nil, nitro, "[EC2Notices] protection false grace 0s"},
		{"an older instance", "auto", "auto", nil, xen, "[EC2Notices] protection false grace 0s"},
		{"an instance that forbids it", "auto", "auto", off, nitro, "[] protection false grace 0s"},
		{"an endpoint that is named", "auto", "auto",
			map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://m"}, laptop,
			"[EC2Notices] protection false grace 0s"},
		{"a Fargate task", "auto", "auto", fargate, nitro, "[ECSNotices] protection true grace 20s"},
		{"a task on an instance", "auto", "auto", onHost, nitro, "[EC2Notices ECSNotices] protection true grace 20s"},
		{"told to look nowhere", "none", "none", onHost, nitro, "[] protection false grace 0s"},
		{"told to protect only", "none", "auto", onHost, nitro, "[] protection true grace 0s"},
		{"told to look at the instance", "ec2", "none", onHost, laptop, "[EC2Notices] protection false grace 0s"},
		{"told to look at the task", "ecs", "none", onHost, nitro, "[ECSNotices] protection false grace 20s"},
		{"told to look at no task", "ecs", "auto", nil, nitro, "found no ECS_CONTAINER_METADATA_URI_V4"},
		{"told to look where it is forbidden", "ec2", "auto", off, nitro, "found AWS_EC2_METADATA_DISABLED=true"},
		{"a word that is none", "spot", "auto", nil, nil, `--notices: found "spot", allowed is auto, ec2, ecs or none`},
		{"another", "auto", "yes", nil, nil, `--protection: found "yes", allowed is auto, instance or none`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := Placement{Notices: row.notices, Protection: row.protection,
				getenv: func(name string) string { return row.env[name] },
				readFile: func(path string) ([]byte, error) {
					if text, ok := row.files[path]; ok {
						return []byte(text), nil
					}
					return nil, os.ErrNotExist
				}}
			var o worker.Options
			err := s.Apply(&o, false)
			var kinds []string
			for _, n := range o.Notices {
				kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", n), "placement."))
			}
			got := fmt.Sprintf("%v protection %t grace %s", kinds, o.Protection != nil, o.Grace)
			if err != nil {
				got = err.Error()
			}
			if got != row.want && (err == nil || !strings.Contains(got, row.want)) {
				t.Errorf("found %q, want %q", got, row.want)
			}
			given := worker.Options{Grace: time.Minute}
			if s.Apply(&given, true) == nil && given.Grace != time.Minute {
				t.Errorf("a grace that was given became %s", given.Grace)
			}
		})
	}
}

func TestATaskNamesItsMemberAndStaysUntilItsServiceEndsIt(t *testing.T) {
	agent := mustertest.NewECSAgent(time.Now)
	server := httptest.NewServer(agent)
	defer server.Close()
	env := agent.Environment(server.URL)
	s := Placement{Notices: "auto", getenv: func(name string) string { return env[name] }}
	task, err := s.task(t.Context())
	if err != nil || task != (placement.TaskIdentity{ID: "0123456789abcdef0123456789abcdef", Service: "jobs"}) {
		t.Errorf("found %+v, %v", task, err)
	}
	if task, err := (Placement{Notices: "none", getenv: s.getenv}).task(t.Context()); err != nil || task.ID != "" {
		t.Errorf("told to look nowhere found %+v, %v", task, err)
	}
	gone := make(chan struct{})
	go func() {
		s.stay(t.Context(), slog.New(slog.DiscardHandler))
		close(gone)
	}()
	select {
	case <-gone:
		t.Fatal("a released task of a service ends by itself, and the service starts another")
	case <-time.After(50 * time.Millisecond):
	}
	ended, end := context.WithCancel(t.Context())
	end()
	s.stay(ended, slog.New(slog.DiscardHandler)) // told to end, as by SIGTERM
	agent.Stop()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("a task that shall be stopped stays")
	}
	server.Close()
	if _, err := s.task(t.Context()); err == nil || !strings.Contains(err.Error(), "find the ECS task of this worker") {
		t.Errorf("got %v without metadata", err)
	}
}
