package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/page"
	"github.com/muster-scale/muster/server/session"
)

// browser is a browser that follows the login link and keeps the cookie.
type browser struct {
	t      *testing.T
	serves http.Handler
	cookie *http.Cookie
	server.Session
}

// dashboard is an API with sessions and a page; change may alter its options.
func dashboard(t *testing.T, change ...func(*server.Options)) (*world, http.Handler) {
	w := newWorld(t, withQueues(t, "jobs"))
	o := server.Options{Token: w.token, Fleets: w.fleets, Decisions: w.past, Queues: w.queues, Page: page.New(),
		Sessions: session.New(session.Options{Path: "/"}), Routes: []server.Route{{Pattern: "POST /v1/change",
			Serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }}}}
	for _, c := range change {
		c(&o)
	}
	w.serves = server.New(o)
	return w, w.serves
}

// link makes a login link with the operator's token.
func (w *world) link(role string) server.Link {
	w.t.Helper()
	var made server.Link
	answer := w.ask("POST", "/v1/links", `{"role":"`+role+`"}`)
	if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil || answer.Code != http.StatusOK {
		w.t.Fatalf("found %d: %s", answer.Code, answer.Body)
	}
	return made
}

// login opens a link as the page does: the code is in the fragment, and is posted.
func login(t *testing.T, serves http.Handler, link server.Link) (*browser, *httptest.ResponseRecorder) {
	t.Helper()
	at, err := url.Parse(link.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, serves: serves}
	code := strings.TrimPrefix(at.Fragment, "login=")
	answer := b.ask("POST", at.Path+"v1/session", `{"code":"`+code+`"}`)
	if answer.Code == http.StatusOK {
		if err := json.Unmarshal(answer.Body.Bytes(), &b.Session); err != nil {
			t.Fatal(err)
		}
		b.cookie = answer.Result().Cookies()[0]
	}
	return b, answer
}

// ask sends a request as the browser does for the page itself, unless a change says otherwise.
func (b *browser) ask(method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:9325"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	for _, c := range change {
		c(r)
	}
	answer := httptest.NewRecorder()
	b.serves.ServeHTTP(answer, r)
	return answer
}

func TestALinkOpensASession(t *testing.T) {
	w, serves := dashboard(t)
	made := w.link("operator")
	if !strings.HasPrefix(made.URL, "http://127.0.0.1:9325/#login=") {
		t.Errorf("the link is %s", made.URL)
	}
	b, _ := login(t, serves, made)
	if b.Role != session.Operator || !b.Writes || b.Peek || b.WriteToken == "" {
		t.Errorf("found %+v", b.Session)
	}
	wants(t, b.ask("GET", "/v1/status", ""), http.StatusOK, `"fleets"`)
	who := b.ask("GET", "/v1/session", "")
	wants(t, who, http.StatusOK, `"role":"operator"`)
	if strings.Contains(who.Body.String(), b.WriteToken) {
		t.Error("whoever has the cookie gets the write token")
	}
	_, second := login(t, serves, made)
	wants(t, second, http.StatusUnauthorized, "was used")
	wants(t, b.ask("DELETE", "/v1/session", ""), http.StatusNoContent)
	wants(t, b.ask("GET", "/v1/status", ""), http.StatusUnauthorized)
}

// TestOnlyTheTokenMakesLinks holds that a session cannot prolong itself or make another one.
func TestOnlyTheTokenMakesLinks(t *testing.T) {
	w, serves := dashboard(t)
	b, _ := login(t, serves, w.link("operator"))
	wants(t, b.ask("POST", "/v1/links", `{}`, header(session.WriteHeader, b.WriteToken)), http.StatusUnauthorized)
	wants(t, w.ask("POST", "/v1/links", `{"role":"root"}`), http.StatusBadRequest, "operator or reader")
	wants(t, w.ask("POST", "/v1/reports", `{}`, header("Authorization", "")), http.StatusUnauthorized)
}

// TestForgedRequestsAreRefused holds the API against cross-site request forgery: a page of another site or of another
// port makes the browser send requests with the cookie.
func TestForgedRequestsAreRefused(t *testing.T) {
	w, serves := dashboard(t)
	b, _ := login(t, serves, w.link("operator"))
	token := header(session.WriteHeader, b.WriteToken)
	wants(t, b.ask("POST", "/v1/change", "", token), http.StatusNoContent)
	for name, change := range map[string][]func(*http.Request){
		"without the write token":    nil,
		"with a wrong write token":   {header(session.WriteHeader, "guessed")},
		"from another site":          {token, header("Sec-Fetch-Site", "cross-site")},
		"from another port":          {token, header("Sec-Fetch-Site", "same-site")},
		"from an old browser":        {token, header("Sec-Fetch-Site", ""), header("Origin", "http://evil.example")},
		"from a page without origin": {token, header("Sec-Fetch-Site", ""), header("Origin", "null")},
	} {
		if a := b.ask("POST", "/v1/change", "", change...); a.Code != http.StatusForbidden {
			t.Errorf("a write %s: found %d %s", name, a.Code, a.Body)
		}
	}
	wants(t, b.ask("GET", "/v1/status", "", header("Sec-Fetch-Site", "same-site")), http.StatusForbidden, "origin")
	if b.cookie.SameSite != http.SameSiteStrictMode || !b.cookie.HttpOnly {
		t.Errorf("the cookie is %s", b.cookie)
	}
}

// TestAReboundNameReachesNothing holds the API against DNS rebinding: a name of the web that points to this machine.
func TestAReboundNameReachesNothing(t *testing.T) {
	w, serves := dashboard(t)
	made := w.link("operator")
	b, _ := login(t, serves, made)
	for _, path := range []string{"/", "/v1/status", "/v1/session"} {
		if a := b.ask("GET", path, "", host("evil.example:9325")); a.Code != http.StatusMisdirectedRequest {
			t.Errorf("GET %s: found %d %s", path, a.Code, a.Body)
		}
	}
	if a := b.ask("POST", "/v1/session", `{}`, host("evil.example")); a.Code != http.StatusMisdirectedRequest {
		t.Errorf("a login: found %d %s", a.Code, a.Body)
	}
}

// TestNoAnswerLeaksOrIsFramed holds that no answer can be framed (clickjacking), kept, or named in a Referer header,
// and that no secret is in an address that is sent.
func TestNoAnswerLeaksOrIsFramed(t *testing.T) {
	w, serves := dashboard(t)
	made := w.link("reader")
	at, err := url.Parse(made.URL)
	if err != nil || at.RawQuery != "" || at.Path != "/" || at.Fragment == "" {
		t.Errorf("the code is not in the fragment of %s", made.URL)
	}
	b, _ := login(t, serves, made)
	for _, path := range []string{"/", "/v1/status", "/v1/session", "/v1/nothing", "/metrics"} {
		h := b.ask("GET", path, "").Header()
		if h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Frame-Options") != "DENY" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s: found %v", path, h)
		}
		if path != "/" && h.Get("Cache-Control") != "no-store" {
			t.Errorf("GET %s: data may be kept: %q", path, h.Get("Cache-Control"))
		}
	}
	// A token in an address is no token.
	for _, query := range []string{"?token=" + secret, "?access_token=" + secret} {
		wants(t, w.ask("GET", "/v1/status"+query, "", header("Authorization", "")), http.StatusUnauthorized)
	}
}

func TestAReaderChangesNothingAndSeesNoBodies(t *testing.T) {
	w, serves := dashboard(t)
	b, _ := login(t, serves, w.link("reader"))
	token := header(session.WriteHeader, b.WriteToken)
	if b.Writes || b.Peek {
		t.Errorf("found %+v", b.Session)
	}
	wants(t, b.ask("GET", "/v1/queues", ""), http.StatusOK, "jobs")
	wants(t, b.ask("POST", "/v1/change", "", token), http.StatusForbidden, "may only read")
	wants(t, b.ask("POST", "/v1/queues/jobs/messages", `{"body":"x"}`, token), http.StatusForbidden, "may only read")
	wants(t, b.ask("GET", "/v1/queues/jobs/messages", ""), http.StatusForbidden, "peek: true")
	wants(t, b.ask("GET", "/v1/queues/jobs/export", ""), http.StatusForbidden, "peek: true")
	wants(t, w.ask("GET", "/v1/queues/jobs/messages", ""), http.StatusOK)

	_, serves = dashboard(t, func(o *server.Options) { o.Peek = true })
	w.serves = serves
	b, _ = login(t, serves, w.link("reader"))
	wants(t, b.ask("GET", "/v1/queues/jobs/messages", ""), http.StatusOK, `"messages"`)
}

// TestOverridesNeedAnOperatorsSession holds that the routes which change a fleet are open to an operator's session with
// its write token, and to no other one.
func TestOverridesNeedAnOperatorsSession(t *testing.T) {
	w, serves := dashboard(t)
	operator, _ := login(t, serves, w.link("operator"))
	reader, _ := login(t, serves, w.link("reader"))
	for _, route := range []struct{ method, path string }{
		{"POST", "/v1/fleets/a/overrides"}, {"POST", "/v1/fleets/a/overrides?plan=1"},
		{"DELETE", "/v1/fleets/a/overrides/pause-1"}, {"POST", "/v1/events"},
	} {
		ask := func(b *browser, token string) int {
			return b.ask(route.method, route.path, `{}`, header(session.WriteHeader, token)).Code
		}
		if code := ask(operator, operator.WriteToken); code == http.StatusUnauthorized || code == http.StatusForbidden {
			t.Errorf("%s %s of an operator: found %d", route.method, route.path, code)
		}
		if code := ask(operator, ""); code != http.StatusForbidden {
			t.Errorf("%s %s without the write token: found %d", route.method, route.path, code)
		}
		if code := ask(reader, reader.WriteToken); code != http.StatusForbidden {
			t.Errorf("%s %s of a reader: found %d", route.method, route.path, code)
		}
	}
	wants(t, reader.ask("GET", "/v1/fleets/a/overrides", ""), http.StatusOK, `"overrides"`)
}

func TestAReadOnlyDashboardMakesReaders(t *testing.T) {
	w, serves := dashboard(t, func(o *server.Options) {
		o.Sessions = session.New(session.Options{Path: "/", ReadOnly: true})
	})
	b, _ := login(t, serves, w.link("operator"))
	if b.Role != session.Reader {
		t.Errorf("found %+v", b.Session)
	}
}

func TestThePageIsServedBelowAPrefix(t *testing.T) {
	w, serves := dashboard(t, func(o *server.Options) {
		o.Prefix, o.Sessions = "/muster", session.New(session.Options{Path: "/muster/"})
	})
	made := w.link("operator")
	if !strings.HasPrefix(made.URL, "http://127.0.0.1:9325/muster/#login=") {
		t.Errorf("the link is %s", made.URL)
	}
	b, _ := login(t, serves, made)
	if b.cookie.Path != "/muster/" {
		t.Errorf("the cookie is %s", b.cookie)
	}
	wants(t, b.ask("GET", "/muster/", ""), http.StatusOK, "Muster")
	wants(t, b.ask("GET", "/muster/v1/status", ""), http.StatusOK, `"fleets"`)
	wants(t, w.ask("GET", "/v1/status", ""), http.StatusOK, `"fleets"`) // workers and commands know no prefix
	for _, path := range []string{"/", "/muster"} {
		if a := b.ask("GET", path, ""); a.Code != http.StatusFound || a.Header().Get("Location") != "/muster/" {
			t.Errorf("GET %s: found %d to %q", path, a.Code, a.Header().Get("Location"))
		}
	}
	wants(t, b.ask("GET", "/muster/v1/nothing", ""), http.StatusNotFound)
	wants(t, b.ask("GET", "/", "", host("evil.example")), http.StatusMisdirectedRequest)
}

func TestLoginsAreLimited(t *testing.T) {
	_, serves := dashboard(t)
	b := &browser{t: t, serves: serves}
	limited := 0
	for range 100 {
		if b.ask("POST", "/v1/session", `{"code":"guess"}`).Code == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 50 {
		t.Errorf("%d of 100 guesses were refused by the limit", limited)
	}
	for _, body := range []string{"", "[]", `{"code":1}`, `{"x":1}`} {
		if a := b.ask("POST", "/v1/session", body); a.Code != http.StatusBadRequest && a.Code != 429 {
			t.Errorf("a login with %q: found %d %s", body, a.Code, a.Body)
		}
	}
}
