package pghistory_test

import (
	"strings"
	"testing"

	"github.com/muster-scale/muster/history/pghistory"
)

func TestAURLHasNoPasswordAndNoOpenNetwork(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://muster@db.example.com/muster":                            "",
		"postgresql://muster@127.0.0.1:5433/muster?sslmode=disable":          "",
		"postgres://muster@/muster?host=/run/postgresql":                     "",
		"postgres://muster@db.example.com/muster?sslmode=require":            "",
		"postgres://muster:hunter2@db.example.com/muster":                    "PGPASSWORD",
		"postgres://db.example.com/muster?password=hunter2":                  "PGPASSWORD",
		"postgres://muster@db.example.com/muster?sslmode=disable":            "unencrypted",
		"postgres://muster@db.example.com/muster?sslmode=prefer":             "unencrypted",
		"postgres://muster@/muster?host=/run,db.example.com&sslmode=disable": "unencrypted",
		"postgres://muster@db.example.com":                                   "without a database",
		"mysql://muster@db.example.com/muster":                               `begins with "mysql"`,
		"postgres://muster:hunter2%zz@x/":                                    "no URL",
	} {
		err := pghistory.CheckURL(url)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found error %v, want %q", url, err, want)
		}
		if _, err := pghistory.Connect(url); err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("an error has the password: %v", err)
		}
	}
}

func TestAHostOfTheEnvironmentIsReachedEncryptedToo(t *testing.T) {
	t.Setenv("PGHOST", "db.example.com")
	err := pghistory.CheckURL("postgres://muster@/muster?sslmode=disable")
	if err == nil || !strings.Contains(err.Error(), "unencrypted") {
		t.Errorf("found error %v, want a refusal to send everything unencrypted to the host in PGHOST", err)
	}
	if err := pghistory.CheckURL("postgres://muster@/muster?sslmode=disable&host=/run/postgresql"); err != nil {
		t.Errorf("found error %v for a socket, want none", err)
	}
}
