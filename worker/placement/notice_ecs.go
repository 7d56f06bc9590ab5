package placement

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/lease"
)

// ecsTask is the task metadata, version 4.
type ecsTask struct {
	TaskARN, ServiceName, DesiredStatus string
}

// ECSNotices reads the notice in an ECS task's metadata that the task is stopped. The agent sends SIGTERM too, but a
// shell that started the worker may not pass it on.
type ECSNotices struct {
	// MetadataURI is the value of ECS_CONTAINER_METADATA_URI_V4.
	MetadataURI string
	// Every is the interval between two readings, by default 5 s.
	Every time.Duration
	// Client may be nil, for a client without a proxy.
	Client *http.Client
}

// Watch implements [Notices]. The time until ECS kills the task is unknown; the user states it in Options.Grace.
func (n ECSNotices) Watch(ctx context.Context, tell func(worker.Notice, error)) {
	client := metadataClient(n.Client)
	once := func(ctx context.Context) (worker.Notice, error) {
		task, err := readTask(ctx, client, n.MetadataURI)
		if err == nil && task.DesiredStatus == "STOPPED" {
			return worker.Notice{Kind: worker.Ending, Why: "ECS stops the task"}, nil
		}
		return worker.Notice{}, err
	}
	poll(ctx, cmp.Or(n.Every, worker.NoticeEvery), once, tell)
}

// readTask reads the metadata of this process's task.
func readTask(ctx context.Context, c *http.Client, uri string) (task ecsTask, err error) {
	x := exchange{method: http.MethodGet, url: strings.TrimSuffix(uri, "/") + "/task"}
	status, _, text, err := x.do(ctx, c, metadataTimeout)
	switch {
	case err != nil:
		return task, fmt.Errorf("read the task metadata: %w", err)
	case status != http.StatusOK:
		return task, fmt.Errorf("read the task metadata: GET %s: status %d, want 200", x.url, status)
	}
	if err := json.Unmarshal(text, &task); err != nil {
		return task, fmt.Errorf("read the task metadata: GET %s: %w", x.url, err)
	}
	return task, nil
}

// TaskIdentity is the task of Amazon ECS that a worker runs in.
type TaskIdentity struct {
	// ID is the last part of the task's ARN. Service is the service whose task it is; empty for a task without one.
	ID, Service string
}

// FindECSTask reads the task of this process from task metadata, version 4. metadataURI is the value of
// ECS_CONTAINER_METADATA_URI_V4. A nil client uses no proxy.
func FindECSTask(ctx context.Context, metadataURI string, client *http.Client) (TaskIdentity, error) {
	task, err := readTask(ctx, metadataClient(client), metadataURI)
	if err != nil {
		return TaskIdentity{}, err
	}
	if task.TaskARN == "" {
		return TaskIdentity{}, fmt.Errorf("read the task metadata at %s: found no TaskARN in it", metadataURI)
	}
	return TaskIdentity{ID: task.TaskARN[strings.LastIndexByte(task.TaskARN, '/')+1:], Service: task.ServiceName}, nil
}

// ECSProtection is the protection of a task of Amazon ECS, through its agent's endpoint. The task's role needs
// ecs:UpdateTaskProtection and ecs:GetTaskProtection.
type ECSProtection struct {
	// AgentURI and MetadataURI are the values of ECS_AGENT_URI and ECS_CONTAINER_METADATA_URI_V4.
	AgentURI, MetadataURI string
	// Client may be nil, for a client without a proxy.
	Client *http.Client
}

// agentAnswer is the agent's answer; exactly one field is set.
type agentAnswer struct {
	Protection *struct{ ProtectionEnabled bool } `json:"protection"`
	Failure    *struct{ Reason, Detail string }  `json:"failure"`
	Error      *struct{ Code, Message string }   `json:"error"`
}

// Protect implements [worker.Protection]. The term is in whole minutes for ECS. The answer must confirm the new state,
// because the agent also answers 200 with a failure in its body.
func (p ECSProtection) Protect(ctx context.Context, term time.Duration) error {
	what, body := "lift the protection of the task", `{"ProtectionEnabled":false}`
	if term > 0 {
		what, body = "protect the task", fmt.Sprintf(`{"ProtectionEnabled":true,"ExpiresInMinutes":%d}`,
			term/time.Minute)
	}
	client := metadataClient(p.Client)
	x := exchange{
		method: http.MethodPut, url: strings.TrimSuffix(p.AgentURI, "/") + "/task-protection/v1/state", body: body,
		header: http.Header{"Content-Type": {"application/json"}},
	}
	status, _, text, err := x.do(ctx, client, lease.ProtectTimeout)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var answer agentAnswer
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil {
		return fmt.Errorf("%s: status %d with an answer that is no JSON: %w", what, status, err)
	}
	switch {
	case answer.Failure != nil && answer.Failure.Reason == "TASK_NOT_VALID":
		if task, err := readTask(ctx, client, p.MetadataURI); err == nil && task.ServiceName == "" {
			return fmt.Errorf("%s: %w", what, lease.ErrUnprotectable)
		}
		return fmt.Errorf("%s: TASK_NOT_VALID: only tasks of a service can be protected", what)
	case answer.Failure != nil && answer.Failure.Reason == "DEPLOYMENT_BLOCKED":
		return fmt.Errorf("%s: DEPLOYMENT_BLOCKED: a deployment waits for this task to end; it takes no more "+
			"messages when its protection runs out", what)
	case answer.Failure != nil:
		return fmt.Errorf("%s: %s %s", what, answer.Failure.Reason, answer.Failure.Detail)
	case answer.Error != nil && answer.Error.Code == "AccessDeniedException":
		return fmt.Errorf("%s: AccessDeniedException: %s; the task's role needs ecs:UpdateTaskProtection and "+
			"ecs:GetTaskProtection", what, answer.Error.Message)
	case answer.Error != nil:
		return fmt.Errorf("%s: %s: %s", what, answer.Error.Code, answer.Error.Message)
	case status != http.StatusOK || answer.Protection == nil:
		return fmt.Errorf("%s: status %d and neither protection, failure nor error in the answer", what, status)
	case answer.Protection.ProtectionEnabled != (term > 0):
		return fmt.Errorf("%s: the agent answers that ProtectionEnabled is %t", what,
			answer.Protection.ProtectionEnabled)
	}
	return nil
}
