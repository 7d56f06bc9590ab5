package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// The bounds of invitations and sessions.
const (
	// InviteFor is how long a login link is valid, SessionFor how long a session lasts.
	InviteFor  = 15 * time.Minute
	SessionFor = 12 * time.Hour
	// MaxInvites and MaxSessions bound what is kept. Beyond them the oldest is forgotten.
	MaxInvites  = 16
	MaxSessions = 64
	// CookieName begins the name of the session's cookie. WriteHeader is the header with the write token.
	CookieName  = "muster_session"
	WriteHeader = "X-Muster-CSRF"
)

// Role is what a session may do.
type Role string

// The roles.
const (
	// Reader may read fleets, decisions, logs and queue counts, and change nothing.
	Reader Role = "reader"
	// Operator may also change what runs.
	Operator Role = "operator"
)

// The reasons for which a request is refused.
var (
	// ErrNone means that the request has no valid session: there is no cookie, or its session has ended.
	ErrNone = errors.New("there is no session: open the link that muster up printed, or make one with muster dashboard")
	// ErrCode means that a code is wrong, used or too old.
	ErrCode = errors.New("the login link is wrong, was used, or is older than 15 minutes: make " +
		"one with muster dashboard")
	// ErrForeign means that another page made the browser send the request.
	ErrForeign = errors.New("the request comes from a page of another origin, and is refused")
	// ErrReadOnly means that the session may only read.
	ErrReadOnly = errors.New("the session may only read: open a login link of an operator")
	// ErrWriteToken means that a write lacks the write token of its session.
	ErrWriteToken = errors.New("the request changes something and lacks the header " + WriteHeader +
		" of its session: log in again")
)

// Options configure [Sessions].
type Options struct {
	// Path is the path below which the cookie is sent, as in "/" or "/muster/".
	Path string
	// Port ends the name of the cookie. A browser keeps one cookie of a name for all ports of a host: without it, the
	// login to one program would end the sessions of the others on the machine. Empty leaves the name as it is.
	Port string
	// ReadOnly makes every session one of a [Reader].
	ReadOnly bool
}

// secret is the hash of a secret, so that memory and dumps hold none.
type secret [sha256.Size]byte

// Sessions are the invitations and the open sessions. Any goroutine may use them.
type Sessions struct {
	options Options

	mu      sync.Mutex
	invites []invite // the oldest first
	open    []opened // the oldest first
}

// invite is a login code.
type invite struct {
	code secret
	role Role
	ends time.Time
}

// opened is an open session.
type opened struct {
	cookie, write secret
	role          Role
	ends          time.Time
	// over is closed when the session ends before its time.
	over chan struct{}
}

// New returns Sessions without any.
func New(o Options) *Sessions { return &Sessions{options: o} }

// Opened is a new session with its secrets, which are not kept.
type Opened struct {
	Role Role
	// WriteToken goes into the header [WriteHeader] of every write.
	WriteToken string
	// Ends is the end of the session.
	Ends time.Time

	name, cookie, path string
}

// cookieName returns the name of the session's cookie.
func (s *Sessions) cookieName() string {
	if s.options.Port == "" {
		return CookieName
	}
	return CookieName + "_" + s.options.Port
}

// Cookie returns the session's cookie. secure says that the connection is encrypted.
func (o Opened) Cookie(secure bool) *http.Cookie {
	return &http.Cookie{Name: o.name, Value: o.cookie, Path: o.path, MaxAge: int(SessionFor / time.Second),
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// Gone returns the cookie that removes a session's cookie from the browser.
func (s *Sessions) Gone(secure bool) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(), Path: s.options.Path, MaxAge: -1, Secure: secure, HttpOnly: true,
		SameSite: http.SameSiteStrictMode}
}

// Invite returns a login code for a session of the role, valid for [InviteFor].
func (s *Sessions) Invite(role Role, now time.Time) string {
	code := random()
	if s.options.ReadOnly {
		role = Reader
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.invites = append(s.invites, invite{hash(code), role, now.Add(InviteFor)}); len(s.invites) > MaxInvites {
		s.invites = s.invites[1:]
	}
	return code
}

// Open exchanges a login code for a session. A code opens one session; every other use is [ErrCode].
func (s *Sessions) Open(code string, now time.Time) (Opened, error) {
	given := hash(code)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := -1
	for i := range s.invites {
		if same(s.invites[i].code, given) && now.Before(s.invites[i].ends) {
			at = i
		}
	}
	if at < 0 {
		return Opened{}, ErrCode
	}
	o := Opened{Role: s.invites[at].role, WriteToken: random(), Ends: now.Add(SessionFor), cookie: random(),
		name: s.cookieName(), path: s.options.Path}
	s.invites = append(s.invites[:at:at], s.invites[at+1:]...)
	s.open = append(s.open, opened{hash(o.cookie), hash(o.WriteToken), o.Role, o.Ends, make(chan struct{})})
	if len(s.open) > MaxSessions {
		close(s.open[0].over)
		s.open = s.open[1:]
	}
	return o, nil
}

// Close ends the session of a request, if it has one.
func (s *Sessions) Close(r *http.Request, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(r, now); i >= 0 {
		close(s.open[i].over)
		s.open = append(s.open[:i:i], s.open[i+1:]...)
	}
}

// Check returns the role of a request and the end of its session. The error is one of this package and says what to do.
// A request that may change something needs an operator's session and its write token.
func (s *Sessions) Check(r *http.Request, now time.Time) (Role, time.Time, error) {
	if foreign(r) {
		return "", time.Time{}, ErrForeign
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(r, now)
	if i < 0 {
		return "", time.Time{}, ErrNone
	}
	o := s.open[i]
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		switch {
		case o.role != Operator:
			return o.role, o.ends, ErrReadOnly
		case !same(o.write, hash(r.Header.Get(WriteHeader))):
			return o.role, o.ends, ErrWriteToken
		}
	}
	return o.role, o.ends, nil
}

// Within returns the context of a request, ended with its session: a stream must not outlive a logout. The caller calls
// stop when the request is answered. A request without a session has an ended context.
func (s *Sessions) Within(r *http.Request, now time.Time) (ctx context.Context, stop context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(r, now)
	if i < 0 {
		ctx, stop = context.WithCancel(r.Context())
		stop()
		return ctx, stop
	}
	over := s.open[i].over
	ctx, stop = context.WithDeadline(r.Context(), s.open[i].ends)
	go func() {
		select {
		case <-over:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// find returns the index of the session of a request, or -1. All sessions are compared, so that the time taken says
// nothing.
func (s *Sessions) find(r *http.Request, now time.Time) int {
	cookie, err := r.Cookie(s.cookieName())
	if err != nil || cookie.Value == "" {
		return -1
	}
	given, at := hash(cookie.Value), -1
	for i := range s.open {
		if same(s.open[i].cookie, given) && now.Before(s.open[i].ends) {
			at = i
		}
	}
	return at
}

// foreign tells whether a browser says that a page of another origin caused the request. The page's own requests are
// same-origin; an address that a person typed has no origin ("none"). A program that is no browser says nothing.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return true
}

// Link returns the address of the page below base with a login code in its fragment, which no browser sends.
func Link(base, code string) string { return fmt.Sprintf("%s#login=%s", base, code) }

// random returns a secret of 256 bits as text. The random source of the system does not fail.
func random() string {
	var raw [32]byte
	rand.Read(raw[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

func hash(text string) secret { return sha256.Sum256([]byte(text)) }

// same compares in constant time.
func same(a, b secret) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
