package session_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/muster-scale/muster/server/session"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// opened opens a session of a role and returns it.
func opened(t *testing.T, s *session.Sessions, role session.Role) session.Opened {
	t.Helper()
	o, err := s.Open(s.Invite(role, t0), t0)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// request makes a request with the cookie and the write token of a session.
func request(method string, o session.Opened, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "/v1/status", nil)
	r.AddCookie(o.Cookie(false))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func TestACodeOpensOneSessionWhileItIsValid(t *testing.T) {
	s := session.New(session.Options{Path: "/"})
	code := s.Invite(session.Operator, t0)
	if _, err := s.Open(code, t0.Add(session.InviteFor)); !errors.Is(err, session.ErrCode) {
		t.Errorf("a code that is too old: found %v", err)
	}
	if _, err := s.Open("", t0); !errors.Is(err, session.ErrCode) {
		t.Errorf("an empty code: found %v", err)
	}
	if _, err := s.Open(code, t0.Add(session.InviteFor-1)); err != nil {
		t.Errorf("a valid code: %v", err)
	}
	if _, err := s.Open(code, t0); !errors.Is(err, session.ErrCode) {
		t.Errorf("a used code: found %v", err)
	}
}

func TestWhatASessionMayDo(t *testing.T) {
	s := session.New(session.Options{Path: "/"})
	operator, reader := opened(t, s, session.Operator), opened(t, s, session.Reader)
	tests := []struct {
		name string
		r    *http.Request
		at   time.Time
		want error
	}{
		{"an operator reads", request("GET", operator), t0, nil},
		{"a reader reads", request("GET", reader), t0, nil},
		{"a reader asks for headers", request("HEAD", reader), t0, nil},
		{"an operator writes", request("POST", operator, session.WriteHeader, operator.WriteToken), t0, nil},
		{"a write without its token", request("POST", operator), t0, session.ErrWriteToken},
		{"a delete without its token", request("DELETE", operator), t0, session.ErrWriteToken},
		{"a write with the token of another session", request("POST", operator, session.WriteHeader,
			reader.WriteToken), t0, session.ErrWriteToken},
		{"a reader writes", request("POST", reader, session.WriteHeader, reader.WriteToken), t0, session.ErrReadOnly},
		{"no cookie", httptest.NewRequest("GET", "/", nil), t0, session.ErrNone},
		{"an unknown cookie", request("GET", session.Opened{}), t0, session.ErrNone},
		{"after its end", request("GET", operator), t0.Add(session.SessionFor), session.ErrNone},
		{"the page itself reads", request("GET", operator, "Sec-Fetch-Site", "same-origin"), t0, nil},
		{"a typed address", request("GET", operator, "Sec-Fetch-Site", "none"), t0, nil},
		{"another port of this host", request("GET", operator, "Sec-Fetch-Site", "same-site"), t0, session.ErrForeign},
		{"a page of the web", request("GET", operator, "Sec-Fetch-Site", "cross-site"), t0, session.ErrForeign},
	}
	for _, test := range tests {
		if _, _, err := s.Check(test.r, test.at); !errors.Is(err, test.want) {
			t.Errorf("%s: found %v, want %v", test.name, err, test.want)
		}
	}
}

func TestASessionEndsAtLogout(t *testing.T) {
	s := session.New(session.Options{Path: "/"})
	o, other := opened(t, s, session.Operator), opened(t, s, session.Operator)
	s.Close(request("DELETE", o), t0)
	if _, _, err := s.Check(request("GET", o), t0); !errors.Is(err, session.ErrNone) {
		t.Errorf("found %v after the logout", err)
	}
	if _, _, err := s.Check(request("GET", other), t0); err != nil {
		t.Errorf("another session ended, too: %v", err)
	}
}

func TestARequestEndsWithItsSession(t *testing.T) {
	s := session.New(session.Options{Path: "/"})
	o := opened(t, s, session.Operator)
	now := time.Now()
	for name, end := range map[string]func(){
		"a logout": func() { s.Close(request("DELETE", o), t0) },
		"too many sessions": func() {
			for range session.MaxSessions {
				opened(t, s, session.Reader)
			}
		},
	} {
		o, _ = s.Open(s.Invite(session.Operator, now), now)
		ctx, stop := s.Within(request("GET", o), now)
		if ctx.Err() != nil {
			t.Errorf("before %s the request has ended: %v", name, ctx.Err())
		}
		end()
		<-ctx.Done()
		stop()
	}
	ctx, stop := s.Within(request("GET", session.Opened{}), now)
	defer stop()
	if ctx.Err() == nil {
		t.Error("a request without a session goes on")
	}
}

func TestReadOnlySessionsNeverWrite(t *testing.T) {
	s := session.New(session.Options{Path: "/", ReadOnly: true})
	if o := opened(t, s, session.Operator); o.Role != session.Reader {
		t.Errorf("found the role %s", o.Role)
	}
}

func TestInvitationsAndSessionsAreBounded(t *testing.T) {
	s := session.New(session.Options{Path: "/"})
	first := s.Invite(session.Reader, t0)
	for range session.MaxInvites {
		s.Invite(session.Reader, t0)
	}
	if _, err := s.Open(first, t0); !errors.Is(err, session.ErrCode) {
		t.Errorf("the oldest of too many codes: found %v", err)
	}
	oldest := opened(t, s, session.Reader)
	for range session.MaxSessions {
		opened(t, s, session.Reader)
	}
	if _, _, err := s.Check(request("GET", oldest), t0); !errors.Is(err, session.ErrNone) {
		t.Errorf("the oldest of too many sessions: found %v", err)
	}
}

func TestTheCookieIsOutOfReachOfScriptsAndOtherSites(t *testing.T) {
	o := opened(t, session.New(session.Options{Path: "/muster/"}), session.Reader)
	c := o.Cookie(true)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || !c.Secure || c.Path != "/muster/" || len(c.Value) < 40 {
		t.Errorf("found %s", c)
	}
	if c.Value == o.WriteToken {
		t.Error("the cookie is the write token, so the cookie alone could write")
	}
}

// TestProgramsOnOneHostKeepTheirSessions: browsers send a cookie to all ports of a host, and keep one of each name.
func TestProgramsOnOneHostKeepTheirSessions(t *testing.T) {
	one := session.New(session.Options{Path: "/", Port: "9325"})
	two := session.New(session.Options{Path: "/", Port: "9326"})
	first, second := opened(t, one, session.Operator).Cookie(false), opened(t, two, session.Operator).Cookie(false)
	if first.Name == second.Name || one.Gone(false).Name != first.Name {
		t.Fatalf("found the names %s and %s, and %s is removed", first.Name, second.Name, one.Gone(false).Name)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.AddCookie(first)
	r.AddCookie(second)
	for _, s := range []*session.Sessions{one, two} {
		if _, _, err := s.Check(r, t0); err != nil {
			t.Error(err)
		}
	}
}
