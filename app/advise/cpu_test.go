package advise_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app/advise"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker/protocol"
)

// cloudWatch is a CloudWatch with two hours of one metric.
func cloudWatch(t *testing.T, metric string, value float64) (*awsmetrics.Reader, *mustertest.Metrics) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	m := &mustertest.Metrics{}
	account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: m}})
	if err != nil {
		t.Fatal(err)
	}
	last := time.Now().Truncate(5 * time.Minute)
	for k := range 24 {
		m.Tell(metric, last.Add(-time.Duration(k+1)*5*time.Minute), value)
	}
	return awsmetrics.NewReader(account), m
}

// short is some work for tests of what is not the simulation.
const short = "steady:rate=0.2,duration=30m,service=12s"

func TestCloudWatchStandsInWhereTheWorkIsNotMeasured(t *testing.T) {
	service := strings.Replace(page, "asg: {group: photos}",
		"ecs: {cluster: arn:aws:ecs:eu-west-1:123456789012:cluster/main, service: photos}", 1)
	for _, row := range []struct {
		name, page, metric string
		measured           protocol.Usage
		fails              string
		want               string
	}{
		{"a group", page, "AWS/EC2/CPUUtilization Average", protocol.Usage{}, "", "CPUUtilization is 8 % while"},
		{"a service", service, "AWS/ECS/CPUUtilization Average", protocol.Usage{}, "", "CPUUtilization is 8 % while"},
		{"measured work counts first", page, "AWS/EC2/CPUUtilization Average", waiting(), "",
			"a call uses 0.1"},
		{"not granted", page, "AWS/EC2/CPUUtilization Average", protocol.Usage{}, "AccessDenied",
			"CPUUtilization could not be read: "},
		{"no datapoint", page, "AWS/EC2/Other Average", protocol.Usage{}, "", "has no datapoint"},
	} {
		t.Run(row.name, func(t *testing.T) {
			reader, m := cloudWatch(t, row.metric, 8)
			if row.fails != "" {
				m.Fail(row.fails)
			}
			c := parse(t, row.page)
			r := request(c)
			r.Text, r.To, r.Metrics = []byte(row.page), monday.Add(3*time.Hour), reader
			found, err := advise.Make(context.Background(), lived(t, c, short, 20*time.Second, row.measured), r)
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, a := range found.Advice {
				said += a.Why + "\n"
			}
			for _, u := range found.Unjudged {
				said += u.Why + "\n"
			}
			if !strings.Contains(said, row.want) {
				t.Errorf("nothing says %q:\n%s", row.want, said)
			}
		})
	}
}

func TestAWindowIsADurationWithDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 168 * time.Hour, "36h": 36 * time.Hour,
		"90m":  90 * time.Minute,
		"0.5d": 12 * time.Hour, "400d": 9600 * time.Hour} {
		if got, err := advise.Window(text); err != nil || got != want {
			t.Errorf("%s: found %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "7", "-1d", "0d", "401d", "30s", "NaNd", "1e9d", "week"} {
		if got, err := advise.Window(text); err == nil {
			t.Errorf("%s: found %s, want an error", text, got)
		}
	}
}

func TestAFleetWithoutAPastGetsNoAdvice(t *testing.T) {
	c := parse(t, page)
	found, err := advise.Make(context.Background(), lived(t, c, short, time.Second, protocol.Usage{}),
		advise.Request{Config: c, From: monday.Add(-48 * time.Hour), To: monday.Add(-time.Hour)})
	if err != nil || len(found.Advice) > 0 || !found.NoFigures() {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := advise.Make(context.Background(), nil, advise.Request{Config: c, Fleet: "other"}); err == nil {
		t.Error("a fleet that does not exist was advised")
	}
}
