package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

const storedWeb = "  - {name: web, " + onWork + ", max: 10, policy: {name: dynamic-backlog, processing: 25s}, asg: " +
	"{group: web, reports: none}, reports_from: \"dynamodb:reports\"}\n"

// onFakeTable is onFakeECS with a table of reports beside it.
func onFakeTable(t *testing.T, fleets string) (
	server *fakeaws.Server, file string, stand *mustertest.ReportTable, table *dynamoreport.Table,
) {
	t.Helper()
	server, file = onFakeECS(t, nil, fleets)
	stand = mustertest.NewReportTable("reports", 10)
	web := httptest.NewServer(stand)
	t.Cleanup(web.Close)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", web.URL)
	table, err := dynamoreport.New(dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(web.URL),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), "reports")
	if err != nil {
		t.Fatal(err)
	}
	return server, file, stand, table
}

// keep has the worker of a member keep a report that it has four slots, of which two are busy.
func keep(t *testing.T, table *dynamoreport.Table, member string) {
	t.Helper()
	err := table.Take(t.Context(), worker.Digest{Started: time.Now(), Report: protocol.Report{
		Fleet: "web", Member: member, Worker: member, Seq: 1, SentAt: time.Now().UTC(), State: protocol.Receiving,
		Slots: 4, Busy: 2,
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDoctorLooksAtTheTableOfReports(t *testing.T) {
	for _, row := range []struct {
		name  string
		kept  bool
		fault string
		code  int
		says  string
	}{
		{"workers keep reports there", true, "", 0, "ok         web reports: the table reports has 1 worker of this " +
			"fleet, the newest of "},
		{"none does", false, "", 0, "note       web reports: the table reports has none of this fleet: start its " +
			"workers with muster work --report dynamodb:reports --fleet web"},
		{"there is no table", false, "ResourceNotFoundException", 1, "wrong      web reports: read worker " +
			"reports from the DynamoDB table reports: ResourceNotFoundException"},
		{"it may not be read", true, "AccessDeniedException", 1, "allow dynamodb:Query"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, file, stand, table := onFakeTable(t, storedWeb)
			if row.kept {
				keep(t, table, "i-1")
			}
			stand.Refuse(row.fault)
			code, out, errOut := runMuster(t, "doctor", "-f", file)
			if code != row.code || !strings.Contains(out, row.says) {
				t.Errorf("ended with %d, want %d, and does not say %q:\n%s%s", code, row.code, row.says, out, errOut)
			}
		})
	}
}

func TestUpKnowsAFleetByWhatItsWorkersKeepInATable(t *testing.T) {
	server, file, _, table := onFakeTable(t, storedWeb)
	member := ""
	server.Do(func(w *model.World) {
		g, err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{})
		if err != nil || len(g.AutoScalingGroups) != 1 || len(g.AutoScalingGroups[0].Instances) != 3 {
			t.Fatalf("found %+v, %v", g, err)
		}
		member = g.AutoScalingGroups[0].Instances[1].InstanceId
	})
	keep(t, table, member)
	c, err := kinds.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	upUntil(t, c, true, "six slots, four of which one worker tells of",
		func(o controller.Outcome) bool { return o.Observation.Capacity.Slots == 1+1+4 })
}
