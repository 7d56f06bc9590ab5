package pglease_test

import (
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
