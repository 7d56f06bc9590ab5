package config_test

import (
	"strings"
	"testing"

	"github.com/muster-scale/muster/config"
)

// pasted is the published list for worker utilization under the key that it has in a template, as it stands there.
const pasted = `version: 1
fleets:
  - name: f
    queue: ProcessingQueue
    max: 20
    policy:
      name: metric-math
      target: 0.7
      Metrics:
        - Id: backlog
          MetricStat:
            Metric:
              Namespace: AWS/SQS
              MetricName: ApproximateNumberOfMessagesVisible
              Dimensions:
                - Name: QueueName
                  Value: !GetAtt ProcessingQueue.QueueName
            Stat: Maximum
        - Id: inFlight
          MetricStat:
            Metric:
              Namespace: AWS/SQS
              MetricName: ApproximateNumberOfMessagesNotVisible
              Dimensions:
                - Name: QueueName
                  Value: !GetAtt ProcessingQueue.QueueName
            Stat: Maximum
        - Id: workers
          MetricStat:
            Metric:
              Namespace: YourApp
              MetricName: TotalWorkers
            Stat: Sum
        - Id: totalWork
          Expression: FILL(backlog, REPEAT) + FILL(inFlight, REPEAT)
        - Id: utilizationRatio
          Expression: totalWork / workers
        - Id: utilization
          Expression: IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))
          ReturnData: true
    workers: {command: [./work.sh]}
`

func TestAPublishedListWorksAsItStands(t *testing.T) {
	c := parse(t, pasted)
	spec := c.Fleets[0].Policy
	uses := spec.Metrics("f", []string{"ProcessingQueue"})
	if len(uses) != 3 {
		t.Fatalf("found %d metrics, expected 3", len(uses))
	}
	for _, u := range uses {
		if !u.Own {
			t.Errorf("%s is read elsewhere", u.Query.Key())
		}
	}
	if got := spec.In.Stabilization.String(); got != "5m0s" {
		t.Errorf("found a fall after %s, expected 5m0s", got)
	}
}

func TestRemarksTellOfTheTrapsOfAList(t *testing.T) {
	other := strings.ReplaceAll(pasted, "!GetAtt ProcessingQueue.QueueName", "another")
	other = strings.Replace(other, "            Stat: Sum", "              Dimensions: [{Name: Application, Value: "+
		"a}]\n            Stat: Sum", 1)
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"as it was published", pasted, []string{
			"m.yaml:10:9: remark: ReturnData is not written on backlog, inFlight, workers, totalWork, " +
				"utilizationRatio. AWS counts that as true and allows one true alone: write ReturnData: false there " +
				"before AWS is to read the list.",
			"m.yaml:12:13: remark: backlog is the backlog of the queue ProcessingQueue, as seen here; nothing is " +
				"read from CloudWatch.",
			"m.yaml:21:13: remark: inFlight is the messages in flight of the queue ProcessingQueue, as seen here; " +
				"nothing is read from CloudWatch.",
			"m.yaml:30:13: remark: workers is the fleet's slots in service, as seen here; nothing is read from " +
				"CloudWatch.",
			"m.yaml:33:19: remark: Sum adds up every publication within 60 s: of a count such as the number of " +
				"workers it is right only if each publishes exactly once in that time. Publishing n times makes it n " +
				"times as much. That goes for CloudWatch: here workers counts as published once a period.",
		}},
		{"metrics that others keep", other, []string{
			"m.yaml:10:9: remark: ReturnData is not written on backlog, inFlight, workers, totalWork, " +
				"utilizationRatio. AWS counts that as true and allows one true alone: write ReturnData: false there " +
				"before AWS is to read the list.",
			"m.yaml:12:13: remark: backlog is read from CloudWatch; where it cannot be read the size is held.",
			"m.yaml:21:13: remark: inFlight is read from CloudWatch; where it cannot be read the size is held.",
			"m.yaml:30:13: remark: workers is read from CloudWatch; where it cannot be read the size is held.",
			"m.yaml:34:19: remark: Sum adds up every publication within 60 s: of a count such as the number of " +
				"workers it is right only if each publishes exactly once in that time. Publishing n times makes it n " +
				"times as much.",
		}},
		{"nothing to say", "version: 1\nfleets: [{name: f, queue: q, max: 1, policy: exact, workers: {command: x}}]",
			nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := config.Parse("m.yaml", []byte(row.text), lookup, all)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range c.Remarks() {
				got = append(got, r.String())
			}
			if d := diff(row.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
