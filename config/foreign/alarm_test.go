package foreign_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-scale/muster/policy"
)

func TestAnAlarmOnAnExpressionIsCarriedOverWhereItMeansTheSame(t *testing.T) {
	const metrics = `
        - {Id: b, ReturnData: false, MetricStat: {Metric: {Namespace: AWS/SQS, MetricName: ApproximateNumberOfMessagesVisible, Dimensions: [{Name: QueueName, Value: q}]}, Stat: Maximum}}
        - {Id: f, ReturnData: false, MetricStat: {Metric: {Namespace: AWS/SQS, MetricName: ApproximateNumberOfMessagesNotVisible, Dimensions: [{Name: QueueName, Value: q}]}, Stat: Maximum}}
        - {Id: a, ReturnData: false, MetricStat: {Metric: {Namespace: AWS/SQS, MetricName: ApproximateAgeOfOldestMessage, Dimensions: [{Name: QueueName, Value: q}]}, Stat: Maximum}}
        - {Id: n, ReturnData: false, MetricStat: {Metric: {Namespace: ECS/ContainerInsights, MetricName: RunningTaskCount}, Stat: Average}}
        - {Id: w, ReturnData: false, MetricStat: {Metric: {Namespace: App, MetricName: TotalWorkers}, Stat: Sum}}
`
	for _, row := range []struct {
		expression, metric string
		from               float64
	}{
		{"b", policy.MetricBacklog, 80}, {"FILL(b, 0) + 0", policy.MetricBacklog, 80},
		{"a / 60", policy.MetricOldestAge, 4800}, {"b / n", policy.MetricBacklogPerWorker, 80},
		{"IF(FILL(n, 0) > 0, b / n, b)", policy.MetricBacklogPerWorker, 80},
		{"100 * (b + f) / w", policy.MetricUtilization, 0.8},
		{"IF(w > 0, (b + f) / w, IF(b + f > 0, 1, 0))", policy.MetricUtilization, 80},
		{"b + f", policy.MetricTotalWork, 80},
		{"FILL(b, REPEAT) + FILL(f, REPEAT)", policy.MetricTotalWork, 80}, {"2 * (b + f)", policy.MetricTotalWork, 40},
		{"b + 2 * f", "", 0},
		{"b / w", "", 0}, {"RATE(b)", "", 0}, {"MAX([b, f])", "", 0}, {"b - n", "", 0}, {"IF(b > 500, b, 0)", "", 0},
		{"AVG(b) + 0 * b", "", 0}, {"b /", "", 0},
	} {
		t.Run(row.expression, func(t *testing.T) {
			r, err := readText("t.yaml", []byte(`Resources:
  Policy:
    Type: AWS::AutoScaling::ScalingPolicy
    Properties: {AutoScalingGroupName: g, PolicyType: StepScaling, AdjustmentType: ChangeInCapacity, StepAdjustments: [{MetricIntervalLowerBound: 0, ScalingAdjustment: 1}]}
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Threshold: 80
      ComparisonOperator: GreaterThanOrEqualToThreshold
      AlarmActions: [!Ref Policy]
      Metrics:`+metrics+`        - {Id: e, Expression: "`+row.expression+`"}
`))
			if err != nil {
				t.Fatal(err)
			}
			valid(t, r)
			f := r.Fleets[0]
			switch {
			case row.metric == "":
				if len(f.Policies) != 0 ||
					!strings.Contains(fmt.Sprint(f.Notes), "an expression that steps do not follow") {
					t.Errorf("carried over as %+v with the notes %v, want a note", f.Policies, f.Notes)
				}
			case len(f.Policies) != 1 || f.Policies[0].Metric != row.metric || f.Policies[0].Steps[0].From != row.from:
				t.Errorf(
					"carried over as %+v with the notes %v, want steps on %s from %v on", f.Policies, f.Notes,
					row.metric, row.from,
				)
			}
		})
	}
}
