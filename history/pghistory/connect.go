package pghistory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/lib/pq"
)

const (
	// timeout bounds one write, from the wait for a connection to the answer. A controller that waits longer can do
	// nothing else meanwhile.
	timeout = 10 * time.Second
	// connections bounds the connections of one store; PostgreSQL allows 100 in all unless configured otherwise.
	connections = 8
)

// CheckURL checks the URL of a database: postgres://USER@HOST[:PORT]/DATABASE, or for a socket of this machine
// postgres://USER@/DATABASE?host=/DIRECTORY. It has no password.
func CheckURL(text string) error {
	_, err := parse(text)
	return err
}

// parse returns the URL for the driver. No error has the text, which may have a password.
func parse(text string) (*url.URL, error) {
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
	host = cmp.Or(host, os.Getenv("PGHOST"))
	local := isLocal(host) && isLocal(cmp.Or(q.Get("hostaddr"), os.Getenv("PGHOSTADDR")))
	switch mode := q.Get("sslmode"); {
	case mode == "" && local:
		q.Set("sslmode", "disable")
	case mode == "":
		q.Set("sslmode", "verify-full")
	case !local && (mode == "disable" || mode == "allow" || mode == "prefer"):
		return nil, fmt.Errorf("found sslmode=%s for the host %s, which could send everything unencrypted; allowed "+
			"are verify-full (the default), verify-ca and require", mode, host)
	}
	if !q.Has("connect_timeout") && os.Getenv("PGCONNECT_TIMEOUT") == "" {
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

// Connect opens the database of a URL, with the rules of [CheckURL]. It makes no connection yet.
func Connect(text string) (*sql.DB, error) {
	u, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	connector, err := pq.NewConnector(u.String())
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL at %s: %w", u.Host, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// Transact runs do in one transaction. When it returns nil, the changes are on the server's disk. When it fails at the
// commit, they may have happened. It takes at most 10 s.
func Transact(ctx context.Context, db *sql.DB, do func(context.Context, *sql.Tx) error) error {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Durable is an expression for the first statement of a transaction: it switches on waiting for the disk where the
// server, or the user's settings, have switched it off.
const Durable = `set_config('synchronous_commit', CASE current_setting('synchronous_commit')
	WHEN 'off' THEN 'local' ELSE current_setting('synchronous_commit') END, true)`
