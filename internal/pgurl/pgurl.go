// Package pgurl has the one rule of which URL may name a PostgreSQL database: muster check applies it to a
// configuration, and history/pghistory before it connects.
//
//	u, err := pgurl.Parse("postgres://muster@db.example.com/muster", os.Getenv)
//
// The rule keeps passwords out of URLs, which logs and other users can read, and out of unencrypted connections. It
// makes no connection.
package pgurl

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Parse checks the URL of a database: postgres://USER@HOST[:PORT]/DATABASE, or for a socket of this machine
// postgres://USER@/DATABASE?host=/DIRECTORY. It returns the URL for the driver, with what it leaves out set safely.
// getenv returns variables of the environment, from which the driver takes a host. No error has the text, which may
// have a password.
func Parse(text string, getenv func(string) string) (*url.URL, error) {
	const allowed = "allowed is postgres://USER@HOST[:PORT]/DATABASE, or postgres://USER@/DATABASE?host=/DIRECTORY " +
		"for a socket of this machine"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("found a text that is no URL; " + allowed)
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return nil, fmt.Errorf("found a URL that begins with %.20q; %s", u.Scheme, allowed)
	case strings.Trim(u.Path, "/") == "":
		return nil, errors.New("found a URL without a database; " + allowed)
	}
	q := u.Query()
	if _, there := u.User.Password(); there || q.Has("password") {
		return nil, errors.New("found a password in the URL, where logs and other users could read it; put it into " +
			"the environment variable PGPASSWORD, or into the file that PGPASSFILE names")
	}
	host := u.Hostname()
	if h := q.Get("host"); h != "" {
		host = h
	}
	// The driver takes what the URL leaves out from the environment.
	host = cmp.Or(host, getenv("PGHOST"))
	local := isLocal(host) && isLocal(cmp.Or(q.Get("hostaddr"), getenv("PGHOSTADDR")))
	switch mode := q.Get("sslmode"); {
	case mode == "" && local:
		q.Set("sslmode", "disable")
	case mode == "":
		q.Set("sslmode", "verify-full")
	case !local && (mode == "disable" || mode == "allow" || mode == "prefer"):
		return nil, fmt.Errorf("found sslmode=%s for the host %s, which could send everything unencrypted; allowed "+
			"are verify-full (the default), verify-ca and require", mode, host)
	case mode != "disable" && mode != "allow" && mode != "prefer" && mode != "require" && mode != "verify-ca" &&
		mode != "verify-full":
		return nil, fmt.Errorf("found sslmode=%.20q; allowed are verify-full (the default over a network), verify-ca "+
			"and require, and disable, allow and prefer on this machine", mode)
	}
	if !q.Has("connect_timeout") && getenv("PGCONNECT_TIMEOUT") == "" {
		q.Set("connect_timeout", "5")
	}
	u.RawQuery = q.Encode()
	return u, nil
}

// isLocal tells whether all of some hosts, separated by commas, are this machine.
func isLocal(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		ip := net.ParseIP(host)
		if host != "" && !strings.HasPrefix(host, "/") && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}
