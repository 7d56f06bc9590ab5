package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/server"
)

func TestANonsenseReportIsRefusedWithWhatIsAllowed(t *testing.T) {
	long := strings.Repeat("x", 257)
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(goodReport) }
	tests := []struct{ name, body, says string }{
		{"NaN", with(`"busy":1`, `"busy":NaN`), "invalid character 'N'"},
		{"infinite durations", with(`}`, `,"processing":{"count":1,"sum_s":1e999,"buckets":[{"i":0,"n":1}]}}`),
			"read the request"},
		{"durations longer than years", with(`}`, `,"processing":{"count":1,"sum_s":1e300,"buckets":[{"i":0,"n":1}]}}`),
			"at most a year"},
		{"half a message", with(`"busy":1`, `"busy":0.5`), "cannot unmarshal number 0.5"},
		{"null", "null", "1 to 256 characters"},
		{"negative busy slots", with(`"busy":1`, `"busy":-1`), "allowed is 0 to 2"},
		{"more busy slots than slots", with(`"busy":1`, `"busy":3`), "allowed is 0 to 2"},
		{"no slots", with(`"slots":2`, `"slots":0`), "allowed is 1 to 10000"},
		{"more slots than fit a number", with(`"slots":2`, `"slots":99999999999999999999`), "cannot unmarshal"},
		{"a token while it is busy", with(`"state":"receiving"`, `"state":"idle","token":"t"`), "no busy slot"},
		{"a token while it receives", with(`"state":"receiving"`, `"state":"receiving","token":"t"`),
			"allowed only in"},
		{"idle without a token", with(`"state":"receiving"`, `"state":"idle"`, `"busy":1`, `"busy":0`),
			"needs a release token"},
		{"a state that there is not", with(`receiving`, `finished`), "allowed is starting, receiving"},
		{"a cause that there is not", with(`}`, `,"cause":"`+long+`"}`), "allowed is asked"},
		{"no member", with(`"member":"m1"`, `"member":""`), "1 to 256 characters"},
		{"a giant worker name", with(`"worker":"m1"`, `"worker":"`+long+`"`), "1 to 256 characters"},
		{"a giant fleet name", with(`"fleet":"a"`, `"fleet":"`+long+`"`), "1 to 256 characters"},
		{"a giant token", with(`"state":"receiving"`, `"state":"idle","token":"`+long+`"`, `"busy":1`, `"busy":0`),
			"at most 256 characters"},
		{"the first report before the first", with(`"seq":7`, `"seq":0`), "start at 1"},
		{"a negative count", with(`}`, `,"finished":-5}`), "allowed is 0 to 1000000000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			answer := w.ask("POST", "/v1/reports", test.body)
			wants(t, answer, http.StatusBadRequest, test.says)
			if answer.Body.Len() > 1500 || !json.Valid(answer.Body.Bytes()) {
				t.Errorf("the answer is %d bytes long: %.200q", answer.Body.Len(), answer.Body)
			}
			if len(w.a.reports) > 0 {
				t.Errorf("the loop was handed %+v", w.a.reports)
			}
		})
	}
}

func TestAReportThatCannotBeTaken(t *testing.T) {
	w := newWorld(t)
	wants(t, w.ask("POST", "/v1/reports", strings.Replace(goodReport, `"fleet":"a"`, `"fleet":"z"`, 1)),
		http.StatusNotFound, `there is no fleet \"z\"`)
	w.a.err = fmt.Errorf("step: %w", loop.ErrNotReady)
	answer := w.ask("POST", "/v1/reports", goodReport)
	wants(t, answer, http.StatusServiceUnavailable, "report again")
	if answer.Header().Get("Retry-After") != "1" {
		t.Errorf("found Retry-After %q, want 1", answer.Header().Get("Retry-After"))
	}
	w.a.err = errors.New("broken")
	wants(t, w.ask("POST", "/v1/reports", goodReport), http.StatusInternalServerError, "broken")
}

func TestAnEventWakesAndNothingElse(t *testing.T) {
	tests := []struct {
		name  string
		posts []string
		codes []int
		a, b  int
	}{
		{"one fleet", []string{`{"fleet":"a"}`}, []int{202}, 1, 0},
		{"all fleets", []string{`{}`}, []int{202}, 1, 1},
		{"without an id every event wakes", []string{`{"fleet":"a"}`, `{"fleet":"a"}`}, []int{202, 202}, 2, 0},
		{"a repeated id wakes once", []string{`{"fleet":"a","id":"1"}`, `{"fleet":"a","id":"1"}`,
			`{"fleet":"a","id":"2"}`}, []int{202, 202, 202}, 2, 0},
		{"an id counts within its fleet", []string{`{"fleet":"a","id":"1"}`, `{"fleet":"b","id":"1"}`, `{"id":"1"}`,
			`{"id":"1"}`}, []int{202, 202, 202, 202}, 2, 2},
		{"the fleets of a queue by its name", []string{`{"queue":"jobs"}`}, []int{202}, 1, 0},
		{"by its URL and its ARN", []string{`{"queue":"https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"}`,
			`{"queue":"arn:aws:sqs:eu-west-1:123456789012:jobs"}`}, []int{202, 202}, 2, 0},
		{"a repeated id of a queue", []string{`{"queue":"jobs","id":"1"}`, `{"queue":"jobs","id":"1"}`,
			`{"fleet":"a","id":"1"}`}, []int{202, 202, 202}, 2, 0},
		{"a queue that no fleet serves", []string{`{"queue":"other"}`, `{"queue":"https://host/1/"}`}, []int{404, 404},
			0, 0},
		{"a fleet and a queue", []string{`{"fleet":"a","queue":"jobs"}`}, []int{400}, 0, 0},
		{"a giant queue name", []string{`{"queue":"` + strings.Repeat("z", 9999) + `"}`}, []int{404}, 0, 0},
		{"an unknown fleet", []string{`{"fleet":"z","id":"1"}`}, []int{404}, 0, 0},
		{"a giant fleet name", []string{`{"fleet":"` + strings.Repeat("z", 9999) + `"}`}, []int{404}, 0, 0},
		{"a giant id", []string{`{"fleet":"a","id":"` + strings.Repeat("1", 257) + `"}`}, []int{400}, 0, 0},
		{"a kind", []string{`{"fleet":"a","kind":"scale-up"}`, `{"fleet":"a","kind":"_my_own"}`}, []int{202, 202}, 2, 0},
		{"a giant kind", []string{`{"fleet":"a","kind":"` + strings.Repeat("k", 65) + `"}`}, []int{400}, 0, 0},
		{"a size", []string{`{"fleet":"a","desired":5}`, `{"fleet":"a","backlog":5}`, `{"fleet":"a","id":5}`},
			[]int{400, 400, 400}, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.b.last = &controller.Outcome{} // it serves no queue
			for i, body := range test.posts {
				answer := w.ask("POST", "/v1/events", body)
				wants(t, answer, test.codes[i])
				if answer.Body.Len() > 300 {
					t.Errorf("the answer is %d bytes long", answer.Body.Len())
				}
			}
			if w.a.wakes != test.a || w.b.wakes != test.b {
				t.Errorf("woke %d and %d times, want %d and %d", w.a.wakes, w.b.wakes, test.a, test.b)
			}
		})
	}
}

func TestTheAnswerToAnEventNamesTheWokenFleets(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ body, want string }{
		{`{}`, `{"fleets":["a","b"],"repeated":false}`},
		{`{"fleet":"b","id":"x"}`, `{"fleets":["b"],"repeated":false}`},
		{`{"fleet":"b","id":"x"}`, `{"fleets":[],"repeated":true}`},
	} {
		if got := strings.TrimSpace(w.ask("POST", "/v1/events", c.body).Body.String()); got != c.want {
			t.Errorf("%s: found %s, want %s", c.body, got, c.want)
		}
	}
}

func TestAFloodOfEventsIsCutOff(t *testing.T) {
	w := newWorld(t)
	refused := false
	for range 100_000 {
		answer := w.ask("POST", "/v1/events", `{"fleet":"a"}`)
		if refused = answer.Code == http.StatusTooManyRequests; refused {
			wants(t, answer, http.StatusTooManyRequests, "more than 20 events a second")
			if answer.Header().Get("Retry-After") != "1" {
				t.Errorf("found Retry-After %q, want 1", answer.Header().Get("Retry-After"))
			}
			break
		}
	}
	if !refused || w.a.wakes < 100 {
		t.Errorf("after %d wakes the flood was refused: %t; want it refused after a burst of 100", w.a.wakes, refused)
	}
}

// FuzzReport posts anything as a report. Whatever it is, the API does not fail, and the fleet is handed only what can
// be true.
func FuzzReport(f *testing.F) {
	f.Add([]byte(goodReport))
	f.Add([]byte(strings.Replace(goodReport, `"busy":1`, `"busy":0,"token":"t","cause":"idle_too_long"`, 1)))
	f.Add([]byte(`{"fleet":"a","member":"m","worker":"w","seq":1,"state":"draining","slots":1,"finished":2,"processing":{"count":2,"sum_s":3,"buckets":[{"i":1,"n":2}]}}`))
	for _, seed := range []string{"", "null", "[]", "{}{}", `{"slots":1e400}`, `{"fleet":"\u0000"}`, "\xff\xfe",
		`{"FLEET":"a","fleet":"b"}`, strings.Repeat(`{"at":`, 100)} {
		f.Add([]byte(seed))
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		w.a.reports = nil
		for token, codes := range map[string][]int{secret: {200, 400, 404, 413}, strings.Repeat("f", 64): {401}} {
			answer := w.ask("POST", "/v1/reports", string(body), bearer(token))
			allowed(t, answer.Code, answer.Body.Bytes(), codes...)
			if (answer.Code == 200) != (len(w.a.reports) == 1) && token == secret {
				t.Errorf("the answer is %d, and the fleet was handed %d reports", answer.Code, len(w.a.reports))
			}
		}
		for _, r := range w.a.reports {
			if err := roster.Check(r); err != nil || r.Fleet != "a" {
				t.Errorf("the fleet was handed %+v: %v", r, err)
			}
			var members roster.Roster
			if taken, _ := members.Reported(r); !taken {
				t.Errorf("the roster did not take %+v", r)
			}
		}
	})
}

// FuzzEvent posts anything as an event.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{`{"fleet":"a","id":"1"}`, "{}", "null", "", `{"fleet":"z"}`, `{"id":1}`,
		`{"fleet":"a","desired":1}`, "{}{}", "\xff", `{"id":"` + strings.Repeat("x", 300) + `"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := newWorld(t)
		answer := w.ask("POST", "/v1/events", string(body))
		allowed(t, answer.Code, answer.Body.Bytes(), 202, 400, 404, 413)
		if woken := w.a.wakes + w.b.wakes; woken > 2 || (answer.Code == 202) != (woken > 0) {
			t.Errorf("the answer is %d, and %d fleets were woken", answer.Code, woken)
		}
		var e server.Event
		if answer.Code == 202 && json.Unmarshal(body, &e) != nil {
			t.Error("it was taken and is no event")
		}
		if e.ID != "" {
			woken := w.a.wakes + w.b.wakes
			if w.ask("POST", "/v1/events", string(body)); w.a.wakes+w.b.wakes != woken {
				t.Error("it woke a second time")
			}
		}
	})
}

func allowed(t *testing.T, code int, body []byte, codes ...int) {
	t.Helper()
	for _, c := range codes {
		if code == c {
			if len(body) > 0 && !json.Valid(body) {
				t.Errorf("status %d with a body that is no JSON: %q", code, body)
			}
			return
		}
	}
	t.Errorf("found status %d, want one of %v: %s", code, codes, body)
}

var _ server.Fleet = (*loop.Loop)(nil)
