//go:build interop

package amazon_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

// TestReports has workers write into a table that was made as the documentation says, and a controller read it.
func TestReports(t *testing.T) {
	d := open(t)
	c := dynamodb.NewFromConfig(d.config)
	_, err := c.CreateTable(d.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("reports"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("fleet"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("worker"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("fleet"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("worker"), KeyType: types.KeyTypeRange}},
	})
	d.must(err)
	table, err := dynamoreport.New(c, "reports")
	d.must(err)
	begun, seq := time.Now(), int64(0)
	says := func(name string, number int64, seconds ...time.Duration) {
		t.Helper()
		d.must(table.Take(d.Context(), worker.Digest{
			Started: begun, Total: worker.Counts{Finished: int64(len(seconds)),
				Processing: series.Add(series.Durations{}, seconds...)},
			Report: protocol.Report{Fleet: "jobs", Member: name, Worker: name, Seq: number, Epoch: 1,
				SentAt: time.Now().UTC(), State: protocol.Receiving, Slots: 2, Busy: 1},
		}))
	}
	for _, name := range []string{"a", "b", "c"} {
		seq++
		says(name, seq, time.Second)
	}
	f := dynamoreport.NewReader(table, "us-east-1").Follow("jobs")
	first, err := f.Reports(d.Context(), time.Now())
	d.must(err)
	if len(first) != 3 || first[0].Finished != 0 || first[0].Busy != 1 {
		t.Fatalf("found %+v, want three workers without what they had counted before", first)
	}
	says("b", seq+1, time.Second, 2*time.Second, 3*time.Second)
	says("b", seq, time.Second) // late, and refused by the table
	next, err := f.Reports(d.Context(), time.Now().Add(dynamoreport.ReadEvery))
	d.must(err)
	if len(next) != 1 || next[0].Worker != "b" || next[0].Finished != 2 || next[0].Processing.SumSeconds != 5 {
		t.Errorf("found %+v, want the two messages that b finished since", next)
	}
}
