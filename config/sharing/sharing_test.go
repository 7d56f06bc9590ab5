package sharing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-scale/muster/config/sharing"
	"github.com/muster-scale/muster/kinds"
)

func TestStoresOfControllers(t *testing.T) {
	const remote = "fleets: [{name: web, queue: 'https://sqs.eu-west-1.amazonaws.com/000000000000/work', max: 9, " +
		"asg: {group: web}}]"
	const local = "fleets: [{name: jobs, queue: jobs, max: 2, workers: {command: ['true']}}]"
	const embedded = "fleets: [{name: jobs, queue: jobs, max: 2, asg: {group: web}}]"
	for _, row := range []struct{ store, fleets, want string }{
		{"file", local, ""},
		{"file", remote, ""},
		{"dynamodb:muster-history", remote, ""},
		{"postgres://muster@db.example.com/muster", remote, ""},
		{"postgres://muster@/muster?host=/run/postgresql", remote, ""},
		{"postgres://muster@127.0.0.1/muster?sslmode=disable", remote, ""},
		{"postgres://muster@db.example.com/muster?sslmode=verify-ca", remote, ""},
		{"postgres://muster@db.example.com/muster?sslmode=disable", remote, "could send everything unencrypted"},
		{"postgres://muster@db.example.com/muster?sslmode=prefer", remote, "could send everything unencrypted"},
		{"postgres://muster@db.example.com/muster?sslmode=allow", remote, "could send everything unencrypted"},
		{"postgres://muster@db.example.com/muster?sslmode=sometimes", remote, "allowed are verify-full"},
		{"dynamodb:x", remote, "found the table"},
		{"dynamodb:", remote, "allowed is file, dynamodb:TABLE, or postgres://"},
		{"redis://x", remote, "allowed is file, dynamodb:TABLE, or postgres://"},
		{"postgres://db.example.com", remote, "without a database"},
		{"postgres://muster:hunter2@db.example.com/muster", remote, "PGPASSWORD"},
		{"postgres://db.example.com/muster?password=hunter2", remote, "PGPASSWORD"},
		{"dynamodb:muster-history", local, "found workers that are processes of this machine"},
		{"dynamodb:muster-history", embedded, "found an embedded queue"},
	} {
		_, err := kinds.Parse("m.yaml", fmt.Appendf(nil, "version: 1\ncontrollers: {store: %q}\n%s", row.store,
			row.fleets))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: found error %v, want %q", row.store, err, row.want)
		}
	}
	for _, name := range []string{"", "a b", strings.Repeat("x", 64)} {
		_, err := kinds.Parse("m.yaml", fmt.Appendf(nil, "version: 1\ncontrollers: {store: file, name: %q}\n", name))
		if err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	if got := (sharing.Controllers{Store: "postgres://u@h/d?x=y"}).Text(); got != "postgres://h/d" {
		t.Errorf("the text of a store is %q", got)
	}
}
