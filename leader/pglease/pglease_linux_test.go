package pglease_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/muster-scale/muster/history/pghistory"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/leasetest"
	"github.com/muster-scale/muster/leader/pglease"
	"github.com/muster-scale/muster/mustertest/postgres"
)

func TestPostgreSQLKeepsTheContract(t *testing.T) {
	server := postgres.Start(t)
	leasetest.Conformance(t, func(t *testing.T) leader.Store {
		h, err := pghistory.Open(t.Context(), postgres.Database(t, server))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		return pglease.New(h.DB())
	})
}

// TestAFreshDatabaseIsToldApart holds that a reader who comes before the first controller learns what makes the tables.
func TestAFreshDatabaseIsToldApart(t *testing.T) {
	db, err := sql.Open("postgres", postgres.Database(t, postgres.Start(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := pglease.New(db).Read(t.Context(), true); !errors.Is(err, pglease.ErrNoTables) {
		t.Errorf("found %v, want %v", err, pglease.ErrNoTables)
	}
}
