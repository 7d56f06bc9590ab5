package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-scale/muster/server/session"
)

// This file lets browsers in: the routes of sessions, and the check of requests that have a session in place of the
// token.

// Session is the answer of POST and GET /v1/session. Fields may be added; readers ignore unknown ones.
type Session struct {
	Role session.Role `json:"role"`
	// WriteToken goes into the header [session.WriteHeader] of every write. Only the answer of POST has it, so that a
	// stolen cookie can only read.
	WriteToken string    `json:"csrf,omitzero"`
	ExpiresAt  time.Time `json:"expires_at"`
	// Writes tells whether the session may change what runs, and Peek whether it may read the bodies of messages.
	Writes bool `json:"writes"`
	Peek   bool `json:"peek"`
}

// Link is the answer of POST /v1/links: a link that opens one session.
type Link struct {
	URL       string       `json:"url"`
	Role      session.Role `json:"role"`
	ExpiresAt time.Time    `json:"expires_at"`
}

const (
	// loginsPerSecond and loginBurst bound the attempts to log in, of all browsers together.
	loginsPerSecond = 5
	loginBurst      = 20
)

func newLoginLimit() *rate.Limiter { return rate.NewLimiter(loginsPerSecond, loginBurst) }

// login exchanges the code of a link for a session. It needs no token: the code is the proof.
func (a *api) login(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Code string `json:"code"`
	}
	if !a.logins.Allow() {
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, "too many attempts to log in; try again in a second")
		return
	}
	if err := read(r, &given); err != nil {
		unreadable(w, err)
		return
	}
	opened, err := a.Sessions.Open(given.Code, time.Now())
	if err != nil {
		fail(w, http.StatusUnauthorized, err.Error())
		return
	}
	http.SetCookie(w, opened.Cookie(r.TLS != nil))
	answer(w, Session{Role: opened.Role, WriteToken: opened.WriteToken, ExpiresAt: opened.Ends.UTC(),
		Writes: opened.Role == session.Operator, Peek: a.Peek})
}

// whoami answers with the session of a request.
func (a *api) whoami(w http.ResponseWriter, r *http.Request) {
	role, ends, err := a.Sessions.Check(r, time.Now())
	if err != nil {
		refuseSession(w, err)
		return
	}
	answer(w, Session{Role: role, ExpiresAt: ends.UTC(), Writes: role == session.Operator, Peek: a.Peek})
}

// logout ends the session of a request. It needs no write token: a forged logout gains nothing, and the checks of
// origins refuse it anyway.
func (a *api) logout(w http.ResponseWriter, r *http.Request) {
	a.Sessions.Close(r, time.Now())
	http.SetCookie(w, a.Sessions.Gone(r.TLS != nil))
	w.WriteHeader(http.StatusNoContent)
}

// link answers with a new link. Only the operator's token makes one: a session must not outlive itself.
func (a *api) link(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Role session.Role `json:"role"`
	}
	if !a.Token.equal(bearer(r)) {
		unauthorized(w)
		return
	}
	if err := read(r, &given); err != nil {
		unreadable(w, err)
		return
	}
	switch given.Role {
	case "":
		given.Role = session.Operator
	case session.Operator, session.Reader:
	default:
		fail(w, http.StatusBadRequest, "role: allowed is operator or reader")
		return
	}
	now := time.Now()
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	code := a.Sessions.Invite(given.Role, now)
	answer(w, Link{URL: session.Link(scheme+r.Host+a.Prefix+"/", code), Role: given.Role,
		ExpiresAt: now.Add(session.InviteFor).UTC()})
}

// bySession tells whether the session of a request allows it, and answers if not.
func (a *api) bySession(w http.ResponseWriter, r *http.Request) bool {
	if a.Sessions == nil || r.Header.Get("Authorization") != "" {
		unauthorized(w)
		return false
	}
	if _, _, err := a.Sessions.Check(r, time.Now()); err != nil {
		refuseSession(w, err)
		return false
	}
	if !a.Peek && showsBodies(r) {
		fail(w, http.StatusForbidden, "the dashboard does not show the bodies of messages: set dashboard: {peek: "+
			"true} in the configuration, or use muster queue peek")
		return false
	}
	return true
}

// showsBodies tells whether the answer to a request has bodies of messages, which may be confidential.
func showsBodies(r *http.Request) bool {
	path := r.URL.Path
	return r.Method != http.MethodPost && strings.HasPrefix(path, "/v1/queues/") &&
		(strings.HasSuffix(path, "/messages") || strings.HasSuffix(path, "/export"))
}

// refuseSession answers with an error of package session.
func refuseSession(w http.ResponseWriter, err error) {
	if errors.Is(err, session.ErrNone) {
		unauthorized(w)
		return
	}
	fail(w, http.StatusForbidden, err.Error())
}

// page serves the dashboard's files, which are the same for everybody and need no token, and everything else by next.
func (a *api) page(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if reads && a.Page != nil && a.Page.Has(r.URL.Path) {
			a.Page.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// below serves the API and the page below the prefix, too. The root then leads to the page, whose cookie is valid below
// the prefix alone.
func (a *api) below(next http.Handler) http.Handler {
	if a.Prefix == "" {
		return next
	}
	stripped := http.StripPrefix(a.Prefix, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, a.Prefix+"/"):
			stripped.ServeHTTP(w, r)
		case r.Method == http.MethodGet && (r.URL.Path == a.Prefix || r.URL.Path == "/") && a.allowed(r.Host):
			http.Redirect(w, r, a.Prefix+"/", http.StatusFound)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
