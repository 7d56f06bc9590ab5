package pgurl_test

import (
	"strings"
	"testing"

	"github.com/muster-scale/muster/internal/pgurl"
)

// TestWhatIsLeftOutIsSafe: a URL that says nothing of encryption is encrypted over a network.
func TestWhatIsLeftOutIsSafe(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://muster@db.example.com/muster":                    "sslmode=verify-full",
		"postgres://muster@127.0.0.1/muster":                         "sslmode=disable",
		"postgres://muster@db.example.com/muster?sslmode=require":    "sslmode=require",
		"postgres://muster@/muster?host=/run/postgresql":             "sslmode=disable",
		"postgres://muster@/muster?host=/run,db.example.com":         "sslmode=verify-full",
		"postgres://muster@127.0.0.1/muster?hostaddr=192.0.2.1":      "sslmode=verify-full",
		"postgres://muster@db.example.com/muster?connect_timeout=30": "connect_timeout=30",
	} {
		u, err := pgurl.Parse(text, func(string) string { return "" })
		if err != nil || !strings.Contains(u.RawQuery, want) {
			t.Errorf("%s: found %v and error %v, want %s", text, u, err, want)
		}
	}
}

// TestTheEnvironmentCanNameAHost: the driver takes the host from there, so the rule must know it.
func TestTheEnvironmentCanNameAHost(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"PGHOST": "db.example.com"}[name] }
	if _, err := pgurl.Parse("postgres://muster@/muster?sslmode=disable", getenv); err == nil {
		t.Error("an unencrypted connection to the host of PGHOST was allowed")
	}
}
