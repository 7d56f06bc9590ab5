package receiver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/event/receiver"
)

// stopped is an event of EventBridge about a task.
func stopped(id string) string {
	return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"ECS Task State Change","source":"aws.ecs",
		"region":"eu-west-1","detail":{"clusterArn":"arn:aws:ecs:eu-west-1:1:cluster/c","group":"service:s","lastStatus":"STOPPED"}}`, id)
}

func TestPostedEventsOfAWSWakeOnceEach(t *testing.T) {
	var woken, repeated []string
	h := receiver.NewEndpoint(func(all ...event.Event) {
		for _, e := range all {
			woken = append(woken, e.ID+" "+e.Service)
		}
	}, func(e event.Event) { repeated = append(repeated, e.ID) })
	post := func(body string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/events/aws", strings.NewReader(body)))
		return w.Code, strings.TrimSpace(w.Body.String())
	}
	for _, row := range []struct {
		name, body string
		code       int
		answer     string
	}{
		{"one event", stopped("1"), 202, `{"events":1,"repeated":0}`},
		{"the same again", stopped("1"), 202, `{"events":0,"repeated":1}`},
		{"no JSON", "stopped", 400, `{"error":"read the event: found no JSON, allowed is an event as ` +
			`EventBridge sends it, or a list of them"}`},
		{"too large", `"` + strings.Repeat("x", 300<<10) + `"`, 413, `{"error":"read the event: at most 262144 bytes are ` +
			`allowed"}`},
	} {
		if code, answer := post(row.body); code != row.code || answer != row.answer {
			t.Errorf("%s: found %d %s, want %d %s", row.name, code, answer, row.code, row.answer)
		}
	}
	if want := []string{"1 s"}; !slices.Equal(woken, want) || !slices.Equal(repeated, []string{"1"}) {
		t.Errorf("found %q and %q repeated, want %q and 1", woken, repeated, want)
	}
}

func TestAFloodOfPostedEventsIsRefused(t *testing.T) {
	woken := 0
	h := receiver.NewEndpoint(func(all ...event.Event) { woken += len(all) }, nil)
	refused := 0
	for i := range 200 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/events/aws", strings.NewReader(stopped(fmt.Sprint(i)))))
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "1" {
			refused++
		}
	}
	// The burst, and what a second or two more allow on a slow machine.
	if refused < 60 || woken != 200-refused {
		t.Errorf("of 200 events at once %d woke and %d were refused", woken, refused)
	}
}
