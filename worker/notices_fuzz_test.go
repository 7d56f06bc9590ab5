package worker_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/placement"
)

// FuzzInterruption: whatever instance metadata answers where an interruption is announced, it is one, and never later
// than two minutes from now; where nothing is announced there is none.
func FuzzInterruption(f *testing.F) {
	f.Add(`{"action":"terminate","time":"2026-03-01T12:00:00Z"}`, "Sun, 01 Mar 2026 11:59:00 GMT", 200)
	f.Add(`{"action":"stop","time":"9999-12-31T23:59:59Z"}`, "", 200)
	f.Add(`{"time":5}`, "yesterday", 200)
	f.Add("", "", 404)
	f.Fuzz(func(t *testing.T, body, date string, status int) {
		if status < 200 || status > 599 {
			status = 404
		}
		service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut:
				w.Write([]byte("token"))
			case strings.HasSuffix(r.URL.Path, "instance-action"):
				w.Header()["Date"] = []string{date}
				w.WriteHeader(status)
				w.Write([]byte(body))
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		begun := time.Now()
		var found worker.Notice
		var failure error
		placement.EC2Notices{Client: via(service)}.Watch(ctx, func(n worker.Notice, err error) {
			found, failure = n, err
			stop()
		})
		announced := status == http.StatusOK && strings.TrimSpace(body) != ""
		switch {
		case announced && (failure != nil || found.Kind != worker.Interrupted || found.By.Before(begun) ||
			found.By.After(time.Now().Add(2*time.Minute))):
			t.Errorf("%d %q at %q: %+v, %v; want an interruption within two minutes", status, body, date, found,
				failure)
		case !announced && found.Kind != "":
			t.Errorf("%d %q: %+v, want no notice", status, body, found)
		case !announced && (failure == nil) != (status == http.StatusNotFound || status == http.StatusOK):
			t.Errorf("%d %q: error %v", status, body, failure)
		}
	})
}

// FuzzAgentAnswer: a task counts as protected only when the agent says so in plain words.
func FuzzAgentAnswer(f *testing.F) {
	f.Add(`{"protection":{"ProtectionEnabled":true}}`, 200)
	f.Add(`{"protection":{"ProtectionEnabled":false}}`, 200)
	f.Add(`{"protection":{"ProtectionEnabled":true},"failure":{"Reason":"TASK_NOT_VALID"}}`, 200)
	f.Add(`{"error":{"Code":"AccessDeniedException"}}`, 400)
	f.Add(`nonsense`, 500)
	f.Fuzz(func(t *testing.T, body string, status int) {
		if status < 200 || status > 599 {
			status = 500
		}
		service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			w.Write([]byte(body))
		})
		p := placement.ECSProtection{AgentURI: "http://agent", MetadataURI: "http://agent", Client: via(service)}
		if err := p.Protect(t.Context(), time.Hour); err != nil {
			return
		}
		var said struct {
			Protection struct{ ProtectionEnabled bool }
			Failure    any
			Error      any
		}
		err := json.NewDecoder(strings.NewReader(body)).Decode(&said)
		if err != nil || status != http.StatusOK || !said.Protection.ProtectionEnabled || said.Failure != nil ||
			said.Error != nil {
			t.Errorf("%d %q counts as protected", status, body)
		}
	})
}
