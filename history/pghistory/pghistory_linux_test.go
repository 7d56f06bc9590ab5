package pghistory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/historytest"
	"github.com/muster-scale/muster/history/pghistory"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/postgres"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, url string) *pghistory.Store {
	t.Helper()
	s, err := pghistory.Open(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestPostgreSQL runs everything against one server, because a start takes seconds.
func TestPostgreSQL(t *testing.T) {
	server := postgres.Start(t)
	t.Run("it keeps the contract", func(t *testing.T) {
		mustertest.HistoryConformance(t, func(t *testing.T) muster.History {
			return open(t, postgres.Database(t, server))
		})
	})
	t.Run("it finds and prunes", func(t *testing.T) {
		historytest.Conformance(t, func(t *testing.T) historytest.Store {
			return open(t, postgres.Database(t, server))
		})
	})
	t.Run("it is durable", func(t *testing.T) {
		url := postgres.Database(t, server)
		mustertest.HistoryDurability(t, func(t *testing.T, _ string) (muster.History, func()) {
			s := open(t, url)
			return s, func() { s.Close() }
		})
	})
	t.Run("it agrees with the memory", func(t *testing.T) { agrees(t, postgres.Database(t, server)) })
	t.Run("a write waits for the disk whatever the user's settings", func(t *testing.T) { waits(t, server) })
	t.Run("tables of a newer program are refused and left alone", func(t *testing.T) { newer(t, server) })
	t.Run("a broken connection is an error and no conflict", func(t *testing.T) { broken(t, server) })
	t.Run("a user without rights is told what to grant", func(t *testing.T) { unprivileged(t, server) })
}

// agrees empties one database for each try.
func agrees(t *testing.T, url string) {
	s := open(t, url)
	historytest.AgreesWithMemory(t, historytest.Against{Open: func(*rapid.T) historytest.Store {
		postgres.Execute(t, url, "TRUNCATE muster.streams, muster.records, muster.shared")
		return s
	}})
}

// waits: PostgreSQL acknowledges commits that are not on its disk where synchronous_commit is off. The trigger sees
// what the transaction of an append has set.
func waits(t *testing.T, server string) {
	url := postgres.Database(t, server)
	open(t, url) // it makes the tables
	postgres.Execute(t, url, `
		ALTER ROLE muster SET synchronous_commit = off;
		CREATE TABLE seen (setting text);
		CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO seen VALUES (current_setting(''synchronous_commit'')); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON muster.streams INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION see()`)
	defer postgres.Execute(t, server, "ALTER ROLE muster RESET synchronous_commit")
	fresh := open(t, url)
	p, err := fresh.Begin(t.Context(), "a")
	if err == nil {
		_, err = fresh.Append(t.Context(), "a", p, historytest.Record(noon, muster.Changed, `1`))
	}
	if err != nil {
		t.Fatal(err)
	}
	postgres.Execute(t, url, `DO $$ BEGIN
		ASSERT (SELECT count(*) = 2 AND bool_and(setting <> 'off') FROM seen), 'a commit did not wait for the disk';
		END $$`)
}

func newer(t *testing.T, server string) {
	url := postgres.Database(t, server)
	open(t, url)
	postgres.Execute(t, url, "UPDATE muster.version SET version = 99")
	if _, err := pghistory.Open(t.Context(), url); err == nil ||
		!strings.Contains(err.Error(), "found version 99 of the tables, this program knows versions up to 2") {
		t.Errorf("tables of version 99: found error %v", err)
	}
}

// broken: the server ends the connections of everybody between two appends, and during one.
func broken(t *testing.T, server string) {
	url := postgres.Database(t, server)
	s := open(t, url)
	p, err := s.Begin(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for range 20 {
		postgres.Execute(t, server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
			"WHERE datname = '"+url[strings.LastIndex(url, "/m")+1:strings.Index(url, "?")]+"'")
		next, err := s.Append(t.Context(), "a", p, historytest.Record(noon, muster.Changed, `1`))
		if err == nil {
			p = next
			continue
		}
		failures++
		if strings.Contains(err.Error(), muster.ErrConflict.Error()) {
			t.Fatalf("a broken connection reads as a conflict: %v", err)
		}
		if p, err = s.Begin(t.Context(), "a"); err != nil {
			p, err = s.Begin(t.Context(), "a")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of 20 appends failed", failures)
}

func unprivileged(t *testing.T, server string) {
	url := postgres.Database(t, server)
	postgres.Execute(t, server, "CREATE ROLE guest LOGIN")
	_, err := pghistory.Open(t.Context(), strings.Replace(url, "muster@", "guest@", 1))
	if err == nil || !strings.Contains(err.Error(), "GRANT CREATE ON DATABASE") {
		t.Errorf("found error %v, want what to grant", err)
	}
}
