package server_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/protocol"
)

const goodReport = `{"fleet":"a","member":"m1","worker":"m1","epoch":0,"seq":7,"state":"receiving","slots":2,"busy":1}`

// routes are all routes but the open ones, and some that there are not.
var routes = []struct{ method, path, body string }{
	{"GET", "/metrics", ""}, {"GET", "/v1/status", ""}, {"GET", "/v1/decisions?fleet=a", ""},
	{"POST", "/v1/reports", goodReport}, {"POST", "/v1/reports", "nonsense"},
	{"POST", "/v1/reports", `{"fleet":"nobody's"}`},
	{"POST", "/v1/reports", strings.Repeat("x", 300_000)}, {"GET", "/v1/reports", ""},
	{"POST", "/v1/events", `{"fleet":"a"}`}, {"GET", "/v1/events", ""}, {"POST", "/v1/status", ""},
	{"DELETE", "/v1/status", ""},
	{"GET", "/v1/queues", ""}, {"GET", "/v1/queues/q/messages", ""}, {"GET", "/v1/queues/none/messages", ""},
	{"GET", "/v1/queues/q/export", ""},
	{"POST", "/v1/queues/q/messages", `{"body":"a"}`},
	{"POST", "/v1/queues/q/messages", strings.Repeat("x", server.MaxLoadBytes+1)},
	{"DELETE", "/v1/queues/q/messages", ""},
	{"GET", "/", ""}, {"GET", "/nowhere", ""}, {"POST", "/healthz", ""}, {"OPTIONS", "/v1/status", ""},
	{"GET", "/debug/pprof/", ""}, {"GET", "/healthz/", ""},
}

func TestEveryRouteButHealthNeedsTheToken(t *testing.T) {
	w := newWorld(t, withQueues(t, "q"))
	member := server.NewToken(secret).Member("a", "m1").Reveal()
	tokens := []struct {
		name   string
		change func(*http.Request)
		own    bool // lets the member report
	}{
		{"no token", header("Authorization", ""), false},
		{"an empty token", bearer(""), false},
		{"a wrong token", bearer(strings.Repeat("f", 64)), false},
		{"the beginning of the token", bearer(secret[:63]), false},
		{"more than the token", bearer(secret + "0"), false},
		{"the token without its scheme", header("Authorization", secret), false},
		{"the token under another scheme", header("Authorization", "Basic "+secret), false},
		{"the token in the query", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.URL.RawQuery += "&token=" +
				secret
		}, false},
		{"another member's token", bearer(server.NewToken(secret).Member("a", "m2").Reveal()), false},
		{"the same member's token of another fleet", bearer(server.NewToken(secret).Member("b", "m1").Reveal()), false},
		{"the same member's token of an API without a token", bearer(server.Token{}.Member("a", "m1").Reveal()), false},
		{"the member's own token", bearer(member), true},
		{"the token of another fleet", bearer(server.NewToken(secret).Fleet("b").Reveal()), false},
		{"the token of a fleet of an API without a token", bearer(server.Token{}.Fleet("a").Reveal()), false},
		{"the token of the member's fleet", bearer(server.NewToken(secret).Fleet("a").Reveal()), true},
	}
	for _, token := range tokens {
		t.Run(token.name, func(t *testing.T) {
			for _, r := range routes {
				if token.own && r.body == goodReport {
					continue
				}
				answer := w.ask(r.method, r.path, r.body, token.change)
				if answer.Code != http.StatusUnauthorized || answer.Header().Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s %s: found status %d, want 401: %s", r.method, r.path, answer.Code, answer.Body)
				}
			}
		})
	}
	if counts, err := w.queues.Counts("q"); err != nil || counts.Sent > 0 {
		t.Errorf("a stranger reached the queue: %+v, %v", counts, err)
	}
	if len(w.a.reports)+w.a.wakes+w.b.wakes > 0 {
		t.Errorf("a stranger reached the fleets: %d reports, %d and %d wakes", len(w.a.reports), w.a.wakes, w.b.wakes)
	}
}

func TestAnAPIWithoutATokenOpensForNobody(t *testing.T) {
	w := newWorld(t, func(w *world) { w.token = server.Token{} })
	for _, r := range routes {
		for _, token := range []string{"", server.Token{}.Member("a", "m1").Reveal(), secret} {
			if answer := w.ask(r.method, r.path, r.body, bearer(token)); answer.Code != http.StatusUnauthorized {
				t.Errorf("%s %s: found status %d, want 401", r.method, r.path, answer.Code)
			}
		}
	}
}

func TestTheSchemeOfATokenMayBeInAnyCase(t *testing.T) {
	wants(t, newWorld(t).ask("GET", "/v1/status", "", header("Authorization", "bearer "+secret)), http.StatusOK)
}

func TestWithTheTokenWhatIsNoRouteIsNotFound(t *testing.T) {
	w := newWorld(t)
	wants(t, w.ask("GET", "/nowhere", ""), http.StatusNotFound, "there is no GET /nowhere")
	wants(t, w.ask("GET", "/v1/events", ""), http.StatusNotFound, "there is no GET /v1/events")
}

func TestHealthSaysOneWordToAnybody(t *testing.T) {
	w := newWorld(t)
	nobody := header("Authorization", "")
	if answer := w.ask("GET", "/healthz", "", nobody); answer.Code != 200 || answer.Body.String() != "ok\n" {
		t.Errorf("healthz: found %d %q", answer.Code, answer.Body)
	}
	answer := w.ask("GET", "/readyz", "", nobody)
	if want := `{"error":"not every fleet was read yet"}` + "\n"; answer.Code != http.StatusServiceUnavailable ||
		answer.Body.String() != want {
		t.Errorf("readyz before every fleet was seen: found %d %q", answer.Code, answer.Body)
	}
	w.b.last = &w.steps[0]
	if answer := w.ask("GET", "/readyz", "", nobody); answer.Code != 200 || answer.Body.String() != "ready\n" {
		t.Errorf("readyz: found %d %q", answer.Code, answer.Body)
	}
}

func TestTheAPIIsReachedUnderNamesOfThisMachineOnly(t *testing.T) {
	w := newWorld(t, func(w *world) { w.hosts = []string{"Muster.internal"} })
	for name, allowed := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:9325": true, "127.9.9.9:1": true, "localhost": true, "localhost:9325": true,
		"LOCALHOST": true, "LocalHost:80": true,
		"[::1]": true, "[::1]:9325": true, "[::ffff:127.0.0.1]:9325": true, "muster.INTERNAL": true,
		"muster.internal:9325": true,
		"":                     false, ":9325": false, "0.0.0.0": false, "0.0.0.0:9325": false, "[::]:9325": false,
		"10.0.0.7":         false,
		"192.168.1.5:9325": false,
		"169.254.169.254":  false, "[fe80::1]:9325": false, "[::ffff:10.0.0.7]": false, "evil.example": false,
		"evil.example:9325":      false,
		"127.0.0.1.evil.example": false, "localhost.evil.example": false, "127.0.0.1.nip.io:9325": false,
		"localhost.": false, "xlocalhost": false,
		"127.1": false, "2130706433": false, "0x7f000001": false, "evil.example@127.0.0.1": false,
		"127.0.0.1:9325.evil.example": false, "localhost:99999": false,
		"muster.internal.evil.example": false, "notmuster.internal": false, strings.Repeat("a", 5000): false,
	} {
		want := http.StatusMisdirectedRequest
		if allowed {
			want = http.StatusOK
		}
		for _, path := range []string{"/v1/status", "/healthz"} {
			answer := w.ask("GET", path, "", host(name))
			if answer.Code != want || answer.Body.Len() > 500 && want != http.StatusOK {
				t.Errorf("host %.40q, %s: found status %d, want %d", name, path, answer.Code, want)
			}
		}
	}
}

func TestAPageOfAnotherOriginCannotWrite(t *testing.T) {
	tests := []struct {
		name, origin, site string
		allowed            bool
	}{
		{"a program sends neither", "", "", true},
		{"a page of the API itself", "http://127.0.0.1:9325", "same-origin", true},
		{"an address typed by the user", "", "none", true},
		{"a page of another site", "https://evil.example", "cross-site", false},
		{"a page of another port of this machine", "http://127.0.0.1:3000", "same-site", false},
		{"an old browser, from another site", "https://evil.example", "", false},
		{"an old browser, from another port", "http://127.0.0.1:3000", "", false},
		{"a sandboxed page", "null", "", false},
		{"a browser that hides the origin", "", "cross-site", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, withQueues(t, "q"))
			for path, body := range map[string]string{"/v1/events": `{}`, "/v1/reports": goodReport,
				"/v1/queues/q/messages": `{"body":"a"}`} {
				answer := w.ask("POST", path, body, header("Origin", test.origin), header("Sec-Fetch-Site", test.site))
				if test.allowed == (answer.Code == http.StatusForbidden) || test.allowed && answer.Code >= 300 {
					t.Errorf("%s: found status %d: %s", path, answer.Code, answer.Body)
				}
			}
			if reached := len(w.a.reports)+w.a.wakes > 0; reached != test.allowed {
				t.Errorf("the request reached the fleet: %t", reached)
			}
			if counts, _ := w.queues.Counts("q"); counts.Sent > 0 != test.allowed {
				t.Errorf("the request reached the queue: %+v", counts)
			}
		})
	}
}

func TestAnswersAreNeitherGuessedAtNorKept(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/healthz", "/v1/status", "/nowhere"} {
		h := w.ask("GET", path, "").Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
			h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: found the headers %v", path, h)
		}
	}
}

func TestBodiesAreBoundedAndStrict(t *testing.T) {
	tests := []struct {
		name, body string
		code       int
		says       string
	}{
		{"too large", `{"fleet":"` + strings.Repeat("x", 300_000) + `"}`, http.StatusRequestEntityTooLarge,
			"too large"},
		{"too large after a good value", "{}" + strings.Repeat(" ", 300_000), http.StatusRequestEntityTooLarge,
			"too large"},
		{"nothing", "", http.StatusBadRequest, "read the request"},
		{"no JSON", "fleet=a", http.StatusBadRequest, "invalid character"},
		{"a field of the wrong type", `{"fleet":7}`, http.StatusBadRequest, "cannot unmarshal number"},
		{"two values", "{}{}", http.StatusBadRequest, "more than one JSON value"},
		{"garbage after the value", "{}]", http.StatusBadRequest, "read the request"},
		{"nested without end", strings.Repeat("[", 200_000), http.StatusBadRequest, "read the request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			for _, path := range []string{"/v1/reports", "/v1/events"} {
				wants(t, w.ask("POST", path, test.body), test.code, test.says)
			}
			if len(w.a.reports)+w.a.wakes+w.b.wakes > 0 {
				t.Error("it reached a fleet")
			}
		})
	}
}

func TestAnEventCarriesNoNumber(t *testing.T) {
	w := newWorld(t)
	wants(t, w.ask("POST", "/v1/events", `{"fleet":"a","desired":50}`), http.StatusBadRequest,
		`unknown field \"desired\"`)
	if w.a.wakes > 0 {
		t.Error("it reached a fleet")
	}
}

func TestTheMembersOwnTokenLetsItReport(t *testing.T) {
	w := newWorld(t)
	w.a.reply = protocol.Directive{Ask: protocol.Leave, Token: "t"}
	own := bearer(server.NewToken(secret).Member("a", "m1").Reveal())
	wants(t, w.ask("POST", "/v1/reports", goodReport, own), http.StatusOK, `{"ask":"leave","token":"t"}`)
	// A worker that is newer than the controller says what the controller does not know, and is heard all the same.
	wants(t, w.ask("POST", "/v1/reports",
		strings.Replace(goodReport, `"seq":7`, `"seq":7,"from_the_future":{"desired":7}`, 1), own), http.StatusOK,
		`"ask":"leave"`)
	if len(w.a.reports) != 2 || !reflect.DeepEqual(w.a.reports[0], w.a.reports[1]) || w.a.reports[0].Seq != 7 ||
		w.a.reports[0].Busy != 1 {
		t.Errorf("the fleet was handed %+v", w.a.reports)
	}
}
