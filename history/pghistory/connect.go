package pghistory

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/lib/pq"

	"github.com/muster-scale/muster/internal/pgurl"
)

const (
	// timeout bounds one write, from the wait for a connection to the answer, and how long a server may be silent. A
	// controller that waits longer can do nothing else meanwhile.
	timeout = 10 * time.Second
	// connections bounds the connections of one store; PostgreSQL allows 100 in all unless configured otherwise.
	connections = 8
)

// CheckURL checks the URL of a database: postgres://USER@HOST[:PORT]/DATABASE, or for a socket of this machine
// postgres://USER@/DATABASE?host=/DIRECTORY. It has no password.
func CheckURL(text string) error {
	_, err := pgurl.Parse(text, os.Getenv)
	return err
}

// Connect opens the database of a URL, with the rules of [CheckURL]. It makes no connection yet.
func Connect(text string) (*sql.DB, error) {
	u, err := pgurl.Parse(text, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	connector, err := pq.NewConnector(u.String())
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL at %s: %w", u.Host, err)
	}
	connector.Dialer(dialer{silence: timeout})
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
