// Package session lets a browser use the HTTP API: a printed one-time link becomes a session, and the session a role.
//
// A browser must not hold the operator's token: a token in an address ends up in histories, logs and Referer headers.
// So muster up prints a link with a short-lived code in its fragment, which browsers never send. The page exchanges the
// code for a cookie:
//
//	sessions := session.New(session.Options{Path: "/"})
//	code := sessions.Invite(session.Operator, now)            // printed as http://127.0.0.1:9325/#login=CODE
//	opened, err := sessions.Open(code, now)                   // POST /v1/session
//	http.SetCookie(w, opened.Cookie(r.TLS != nil))
//	role, err := sessions.Check(r, now)                       // every later request
//
// The main types:
//
//   - [Sessions] are the invitations and the open sessions, in memory only: a restart ends them all.
//   - [Role] is what a session may do. A [Reader] reads, and an [Operator] also changes what runs.
//   - [Opened] is a new session with its two secrets: the cookie and the write token.
//
// The package keeps these invariants:
//
//   - A code opens one session, within [InviteFor]. A session ends after [SessionFor].
//   - Numbers are bounded: at most [MaxInvites] codes and [MaxSessions] sessions exist; the oldest gives way.
//   - Secrets are 256 random bits, are kept as hashes and are compared in constant time.
//   - The cookie is HttpOnly and SameSite=Strict. Browsers send a cookie to every port of a host, so another program on
//     127.0.0.1 can receive it. Therefore the cookie alone only reads: every write needs the write token in the header
//     [WriteHeader], which is answered once, to the page that opened the session, and which no other origin can read.
//   - A request that a browser makes for a page of another origin or another port is refused, also if it only reads.
//
// It knows no route. Package server asks it about requests without the operator's token.
package session
