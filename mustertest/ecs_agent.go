package mustertest

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// This file stands in for the container agent of Amazon ECS: task metadata version 4. Task protection is in
// ecs_protection.go. Source: the ECS developer guide on both endpoints.

const (
	// agentContainer names the container in the paths of the agent's endpoints.
	agentContainer = "0123456789abcdef0123456789abcdef-1234567890"
	// longestProtection and usualProtection are in minutes: the upper bound of two days, and the default.
	longestProtection = 2880
	usualProtection   = 120
)

// ECSAgent stands in for what the container agent of Amazon ECS serves inside a task: the task protection endpoint
// and task metadata version 4. Make one with [NewECSAgent] and serve it, for instance with
// [net/http/httptest.NewServer]; [ECSAgent.Environment] has the variables that point a program at it.
//
// PUT of task-protection/v1/state takes ProtectionEnabled and ExpiresInMinutes (1 to 2880, 120 when absent) and no
// other member; GET returns the state. Each answer holds a protection, a failure (with status 200) or an error.
// Protection ends when its time is over.
//
// It is safe for concurrent use.
type ECSAgent struct {
	clock func() time.Time

	mu        sync.Mutex
	task      ecsTask
	until     time.Time // end of the protection; zero while there is none
	failure   string    // reason of a failure in every answer; empty for none
	code      string    // error code of every answer; empty for none
	status    int       // HTTP status with code
	calls     []ProtectionCall
	unnoticed bool // calls are carried out and not answered
}

// ProtectionCall is one call that changes a task's protection.
type ProtectionCall struct {
	// At is when the call arrived.
	At time.Time
	// Enabled and Minutes are what the call stated; Minutes is 0 when absent.
	Enabled bool
	Minutes int
	// Done tells whether the call was carried out.
	Done bool
}

// ecsTask is the answer to GET task.
type ecsTask struct {
	Cluster, TaskARN, Family, Revision, ServiceName string
	DesiredStatus, KnownStatus                      string
	AvailabilityZone, LaunchType                    string
	PullStartedAt, PullStoppedAt                    time.Time
	Limits                                          map[string]float64
	Containers                                      []ecsContainer
}

// ecsContainer is the answer to GET of the container's own path.
type ecsContainer struct {
	DockerId, Name, DockerName, Image, ContainerARN string
	DesiredStatus, KnownStatus, Type                string
}

// NewECSAgent returns the agent of a running Fargate task of the service jobs. clock is read at each request; pass
// time.Now unless the test has a clock of its own.
func NewECSAgent(clock func() time.Time) *ECSAgent {
	at := clock().UTC()
	return &ECSAgent{clock: clock, task: ecsTask{
		Cluster: "main", TaskARN: "arn:aws:ecs:us-east-1:000000000000:task/main/0123456789abcdef0123456789abcdef",
		Family: "worker", Revision: "1", ServiceName: "jobs", DesiredStatus: "RUNNING", KnownStatus: "RUNNING",
		AvailabilityZone: "us-east-1a", LaunchType: "FARGATE", PullStartedAt: at, PullStoppedAt: at,
		Limits: map[string]float64{"CPU": 0.25, "Memory": 512},
		Containers: []ecsContainer{{
			DockerId: agentContainer, Name: "worker", DockerName: "worker", Image: "worker:1",
			ContainerARN:  "arn:aws:ecs:us-east-1:000000000000:container/main/0123456789abcdef0123456789abcdef/00000000-0000-0000-0000-000000000001",
			DesiredStatus: "RUNNING", KnownStatus: "RUNNING", Type: "NORMAL",
		}},
	}}
}

// Environment returns the variables that tell a program where the agent is, for an agent that is served at a base
// URL.
func (a *ECSAgent) Environment(base string) map[string]string {
	base = strings.TrimSuffix(base, "/")
	return map[string]string{
		"ECS_AGENT_URI":                 base + "/api/" + agentContainer,
		"ECS_CONTAINER_METADATA_URI_V4": base + "/v4/" + agentContainer,
	}
}

// Stop makes the service stop the task: its metadata shows the desired status STOPPED from now on. The real agent
// sends the containers SIGTERM at the same time, and SIGKILL after the stop timeout.
func (a *ECSAgent) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.task.DesiredStatus = "STOPPED"
}

// Standalone makes the task one that RunTask started. It belongs to no service and cannot be protected.
func (a *ECSAgent) Standalone() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.task.ServiceName, a.failure = "", "TASK_NOT_VALID"
}

// FailWith makes every call for the protection fail with a reason such as DEPLOYMENT_BLOCKED, until it is called with
// an empty one.
func (a *ECSAgent) FailWith(reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failure = reason
}

// Refuse makes every call for the protection end in an error, for instance AccessDeniedException with status 400,
// until it is called with an empty code.
func (a *ECSAgent) Refuse(code string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.code, a.status = code, status
}

// LoseAnswers makes calls for the protection be carried out and never answered, until it is called with false.
func (a *ECSAgent) LoseAnswers(lose bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unnoticed = lose
}

// Protected tells whether the task is protected now.
func (a *ECSAgent) Protected() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.clock().Before(a.until)
}

// Calls returns the calls that change the protection, oldest first, refused ones included.
func (a *ECSAgent) Calls() []ProtectionCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]ProtectionCall(nil), a.calls...)
}

// ServeHTTP implements [net/http.Handler].
func (a *ECSAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The agent has two endpoints under one address, told apart by their paths.
	below, metadata := strings.CutPrefix(r.URL.Path, "/v4/"+agentContainer)
	switch {
	case r.URL.Path == "/api/"+agentContainer+"/task-protection/v1/state":
		a.protection(w, r)
	// The path names a container that the agent does not know.
	case strings.HasPrefix(r.URL.Path, "/api/"):
		answer(w, http.StatusNotFound, failed("", "ResourceNotFoundException", "Failed to find a task for the request"))
	case !metadata:
		refuse(w, http.StatusNotFound)
	case r.Method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed)
	default:
		a.metadata(w, below)
	}
}

// metadata answers a path below the metadata endpoint of the container.
func (a *ECSAgent) metadata(w http.ResponseWriter, path string) {
	a.mu.Lock()
	task := a.task
	a.mu.Unlock()
	switch path {
	case "":
		answer(w, http.StatusOK, task.Containers[0])
	case "/task", "/taskWithTags":
		answer(w, http.StatusOK, task)
	case "/stats":
		answer(w, http.StatusOK, map[string]any{"name": task.Containers[0].Name})
	case "/task/stats":
		answer(w, http.StatusOK, map[string]any{agentContainer: map[string]any{"name": task.Containers[0].Name}})
	default:
		refuse(w, http.StatusNotFound)
	}
}

// answer writes a body as JSON.
func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // every body is made of strings, numbers and times
		refuse(w, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}

// agentError, agentFailure and agentState are the three bodies of an answer about the protection; each answer has
// one.
type agentError struct {
	Arn     string `json:"Arn,omitempty"`
	Code    string
	Message string
}

type agentFailure struct {
	Arn    string
	Detail *string
	Reason string
}

type agentState struct {
	ExpirationDate    *time.Time
	ProtectionEnabled bool
	TaskArn           string
}

// failed returns the body of an error.
func failed(arn, code, message string) any {
	return struct {
		RequestID string     `json:"requestID,omitempty"`
		Error     agentError `json:"error"`
	}{Error: agentError{arn, code, message}}
}
