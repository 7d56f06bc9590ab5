package mustertest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/mustertest"
)

// agentPaths returns where the agent serves the protection and the metadata.
func agentPaths(t *testing.T, a *mustertest.ECSAgent) (protection, metadata string) {
	t.Helper()
	path := func(variable string) string {
		u, err := url.Parse(a.Environment("http://169.254.170.2/")[variable])
		if err != nil || u.Path == "" {
			t.Fatalf("%s: %v, %v", variable, u, err)
		}
		return u.Path
	}
	return path("ECS_AGENT_URI") + "/task-protection/v1/state", path("ECS_CONTAINER_METADATA_URI_V4")
}

const (
	taskARN     = "arn:aws:ecs:us-east-1:000000000000:task/main/0123456789abcdef0123456789abcdef"
	unprotected = `{"protection":{"ExpirationDate":null,"ProtectionEnabled":false,"TaskArn":"` + taskARN + `"}}`
)

func protectedUntil(at time.Time) string {
	return `{"protection":{"ExpirationDate":"` + at.Format(time.RFC3339) + `","ProtectionEnabled":true,"TaskArn":"` +
		taskARN + `"}}`
}

func TestECSAgentProtectsATask(t *testing.T) {
	bad := `{"error":{"Code":"InvalidParameterException","Message":"UpdateTaskProtection: failed to decode request"}}`
	outside := `{"error":{"Arn":"` + taskARN +
		`","Code":"InvalidParameterException","Message":"expiresInMinutes must be between 1 and 2880"}}`
	for _, row := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"for as long as it says", `{"ProtectionEnabled":true,"ExpiresInMinutes":60}`, 200,
			protectedUntil(t0.Add(time.Hour))},
		{"for two hours when it does not say", `{"ProtectionEnabled":true}`, 200,
			protectedUntil(t0.Add(2 * time.Hour))},
		{"for two days at most", `{"ProtectionEnabled":true,"ExpiresInMinutes":2881}`, 400, outside},
		{"for a minute at least", `{"ProtectionEnabled":true,"ExpiresInMinutes":0}`, 400, outside},
		{"no more", `{"ProtectionEnabled":false}`, 200, unprotected},
		{"only when told whether", `{"ExpiresInMinutes":5}`, 400,
			`{"error":{"Arn":"` + taskARN +
				`","Code":"InvalidParameterException","Message":"Invalid request: does not contain 'ProtectionEnabled' field"}}`},
		{"not in the words of the API", `{"protectionEnabled":true,"expiresInMinutes":5,"tasks":[]}`, 400, bad},
		{"not in words at all", `protect`, 400, bad},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := mustertest.NewECSAgent(func() time.Time { return t0 })
			state, _ := agentPaths(t, a)
			status, text := ask(a, http.MethodPut, state, row.body)
			if status != row.status || !sameJSON(t, text, row.want) {
				t.Errorf("status %d, %s\nwant %d, %s", status, text, row.status, row.want)
			}
			_, after := ask(a, http.MethodGet, state, "")
			if want := row.want; status == 200 && !sameJSON(t, after, want) || status != 200 &&
				!sameJSON(t, after, unprotected) {
				t.Errorf("the state is %s", after)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	s, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	u, err := json.Marshal(y)
	return err == nil && string(s) == string(u)
}

func TestECSAgentsProtectionEndsByItself(t *testing.T) {
	now := t0
	a := mustertest.NewECSAgent(func() time.Time { return now })
	state, _ := agentPaths(t, a)
	ask(a, http.MethodPut, state, `{"ProtectionEnabled":true,"ExpiresInMinutes":1}`)
	for _, row := range []struct {
		after     time.Duration
		protected bool
	}{{0, true}, {59 * time.Second, true}, {time.Minute, false}} {
		now = t0.Add(row.after)
		if a.Protected() != row.protected {
			t.Errorf("after %s it is protected: %t", row.after, a.Protected())
		}
	}
	if _, text := ask(a, http.MethodGet, state, ""); !sameJSON(t, text, unprotected) {
		t.Errorf("the state is %s", text)
	}
}

func TestECSAgentRefuses(t *testing.T) {
	for _, row := range []struct {
		name   string
		set    func(a *mustertest.ECSAgent)
		status int
		want   string
	}{
		{"a task of no service", (*mustertest.ECSAgent).Standalone, 200, `{"failure":{"Arn":"` + taskARN +
			`","Detail":null,"Reason":"TASK_NOT_VALID"}}`},
		{"while a deployment waits", func(a *mustertest.ECSAgent) { a.FailWith("DEPLOYMENT_BLOCKED") }, 200,
			`{"failure":{"Arn":"` + taskARN + `","Detail":null,"Reason":"DEPLOYMENT_BLOCKED"}}`},
		{"a task whose role may not", func(a *mustertest.ECSAgent) { a.Refuse("AccessDeniedException", 400) }, 400,
			`{"error":{"Arn":"` + taskARN + `","Code":"AccessDeniedException","Message":"refused by the stand-in"}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := mustertest.NewECSAgent(func() time.Time { return t0 })
			state, _ := agentPaths(t, a)
			row.set(a)
			if status, text := ask(a, http.MethodPut, state, `{"ProtectionEnabled":true}`); status != row.status ||
				!sameJSON(t, text, row.want) {
				t.Errorf("status %d, %s\nwant %d, %s", status, text, row.status, row.want)
			}
			if calls := a.Calls(); a.Protected() || len(calls) != 1 || calls[0].Done || !calls[0].Enabled {
				t.Errorf("protected %t after %+v", a.Protected(), calls)
			}
		})
	}
	a := mustertest.NewECSAgent(func() time.Time { return t0 })
	state, _ := agentPaths(t, a)
	if status, _ := ask(a, http.MethodPost, state, ""); status != 405 {
		t.Errorf("status %d for a POST, want 405", status)
	}
	if status, _ := ask(a, http.MethodGet, "/api/other/task-protection/v1/state", ""); status != 404 {
		t.Errorf("status %d for another container, want 404", status)
	}
}

func TestECSAgentMayLoseAnAnswerToWhatItDid(t *testing.T) {
	a := mustertest.NewECSAgent(time.Now)
	state, _ := agentPaths(t, a)
	a.LoseAnswers(true)
	ctx, stop := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPut, state,
			strings.NewReader(`{"ProtectionEnabled":true}`)))
		close(answered)
	}()
	for !a.Protected() { // it is carried out before the answer is lost
		select {
		case <-answered:
			t.Fatal("answered")
		default:
		}
	}
	stop()
	<-answered
}

func TestECSAgentTellsOfTheTask(t *testing.T) {
	a := mustertest.NewECSAgent(func() time.Time { return t0 })
	_, metadata := agentPaths(t, a)
	var task struct {
		TaskARN, ServiceName, DesiredStatus, KnownStatus, LaunchType string
		Containers                                                   []struct{ Name, KnownStatus string }
	}
	read := func(path string) {
		t.Helper()
		status, text := ask(a, http.MethodGet, metadata+path, "")
		if err := json.Unmarshal([]byte(text), &task); err != nil || status != 200 {
			t.Fatalf("%s: status %d, %s, %v", path, status, text, err)
		}
	}
	read("/task")
	if task.TaskARN != taskARN || task.DesiredStatus != "RUNNING" || task.LaunchType != "FARGATE" ||
		task.ServiceName != "jobs" || len(task.Containers) != 1 {
		t.Errorf("found %+v", task)
	}
	a.Stop()
	read("/taskWithTags")
	if task.DesiredStatus != "STOPPED" || task.KnownStatus != "RUNNING" {
		t.Errorf("found %+v of a task that is being stopped", task)
	}
	for path, want := range map[string]int{"": 200, "/stats": 200, "/task/stats": 200, "/none": 404} {
		if status, _ := ask(a, http.MethodGet, metadata+path, ""); status != want {
			t.Errorf("%q: status %d, want %d", path, status, want)
		}
	}
	if status, _ := ask(a, http.MethodPut, metadata+"/task", ""); status != 405 {
		t.Errorf("status %d for a PUT, want 405", status)
	}
	if status, _ := ask(a, http.MethodGet, "/", ""); status != 404 {
		t.Errorf("status %d for nothing, want 404", status)
	}
}
