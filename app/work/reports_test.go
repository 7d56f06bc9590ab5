package work

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-scale/muster/worker"
)

func TestWhereAWorkerReportsTo(t *testing.T) {
	for _, row := range []struct {
		name, to, fleet, api, region string
		every                        time.Duration
		want, fault                  string
	}{
		{name: "nowhere else"},
		{name: "the controller alone", to: "http", api: "http://127.0.0.1:1"},
		{name: "CloudWatch", to: "cloudwatch", region: "eu-west-1", want: "CloudWatch 1m0s"},
		{name: "high resolution", to: "cloudwatch:YourApp", region: "eu-west-1", every: 10 * time.Second,
			want: "CloudWatch 10s"},
		{name: "all of them", to: "http cloudwatch emf:A dynamodb:reports", fleet: "jobs", api: "http://127.0.0.1:1",
			region: "eu-west-1",
			want:   "CloudWatch 1m0s, standard output 1m0s, the table reports 10s"},
		{name: "lines need no region", to: "emf", want: "standard output 1m0s"},
		{name: "no controller", to: "http", fault: "found no controller"},
		{name: "no region", to: "cloudwatch", fault: "set AWS_REGION"},
		{name: "no fleet", to: "dynamodb:reports", region: "eu-west-1", fault: "found no fleet"},
		{name: "no table", to: "dynamodb", fleet: "jobs", region: "eu-west-1", fault: `found the table ""`},
		{name: "twice", to: "emf emf", fault: "twice"},
		{name: "a namespace of Amazon's", to: "emf:AWS/X", fault: "do not begin with AWS/"},
		{name: "a mistyped one", to: "cloudwach", fault: "allowed is http, cloudwatch"},
		{name: "a period that metrics do not have", to: "emf", every: 7 * time.Second,
			fault: "allowed is 5s, 10s, 30s or 1m"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.every == 0 {
				row.every = time.Minute
			}
			r := Reporting{To: strings.Fields(row.to), Every: row.every, out: io.Discard,
				configure: func(context.Context) (aws.Config, error) { return aws.Config{Region: row.region}, nil }}
			o := worker.Options{Fleet: row.fleet}
			err := r.apply(t.Context(), &o, row.api)
			if fault := row.fault; (err == nil) != (fault == "") || err != nil &&
				!strings.Contains(err.Error(), fault) {
				t.Fatalf("found the error %v, want one with %q", err, fault)
			}
			var got []string
			for _, out := range o.Destinations {
				got = append(got, out.Name+" "+out.Every.String())
			}
			if text := strings.Join(got, ", "); err == nil && text != row.want {
				t.Errorf("found %q, want %q", text, row.want)
			}
		})
	}
}
