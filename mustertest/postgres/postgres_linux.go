// Package postgres runs the PostgreSQL server of Debian's package postgresql for a test.
//
//	url := postgres.Start(t)      // a server in a directory of its own
//	url = postgres.Database(t, url) // an empty database in it
//
// The server listens on a socket in its directory alone, runs as a user without rights, and ends with the test. Without
// the program a test is skipped, and fails where CI is set. It needs Linux.
package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"
)

// programs is where Debian keeps the programs of each version.
const programs = "/usr/lib/postgresql/*/bin"

// patience bounds the start of a server.
const patience = 30 * time.Second

// Start starts a server and returns the URL of its database "postgres". It stops the server at the end of the test.
func Start(t testing.TB) string {
	t.Helper()
	bins, _ := filepath.Glob(programs)
	if len(bins) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("PostgreSQL is not installed, and CI needs it; on Debian: apt-get install postgresql")
		}
		t.Skip("PostgreSQL is not installed; on Debian: apt-get install postgresql")
	}
	bin := bins[len(bins)-1]
	// Not t.TempDir, into which only its owner can look.
	dir, err := os.MkdirTemp("", "muster-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	as := owner(t, dir)
	command := func(ctx context.Context, name string, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
		c.Dir = dir
		c.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
		// A server must not outlive a test that is killed.
		c.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT}
		return c
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	data := filepath.Join(dir, "data")
	init := command(ctx, "initdb", "--pgdata", data, "--username", "muster", "--auth", "trust", "--no-sync",
		"--encoding", "UTF8", "--locale", "C")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := command(context.Background(), "postgres", "-D", data, "-c", "listen_addresses=", "-c",
		"unix_socket_directories="+dir, "-c", "fsync=off", "-c", "max_connections=200")
	var said strings.Builder
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGQUIT)
		server.Wait()
		if t.Failed() {
			t.Log("PostgreSQL said:\n" + said.String())
		}
	})
	at := (&url.URL{Scheme: "postgres", User: url.User("muster"), Path: "/postgres",
		RawQuery: url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode()}).String()
	db := open(t, at)
	defer db.Close()
	for err = db.PingContext(ctx); err != nil; err = db.PingContext(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("PostgreSQL did not start: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return at
}

// owner gives dir to the user that the server runs as, and returns that user; nil is the user of the test. A server
// refuses to run as root.
func owner(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Fatal("there is no user postgres or nobody to run PostgreSQL as")
	return nil
}

// open opens a database; the caller closes it.
func open(t testing.TB, at string) *sql.DB {
	t.Helper()
	connector, err := pq.NewConnector(at)
	if err != nil {
		t.Fatal(err)
	}
	return sql.OpenDB(connector)
}

// Database makes an empty database in the server at a URL, and returns its URL.
func Database(t testing.TB, server string) string {
	t.Helper()
	name := "m" + strings.ToLower(rand.Text())
	Execute(t, server, "CREATE DATABASE "+name)
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// Execute runs statements in the database of a URL.
func Execute(t testing.TB, at, statements string) {
	t.Helper()
	db := open(t, at)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}
