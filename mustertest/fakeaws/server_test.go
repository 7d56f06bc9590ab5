package fakeaws_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	autotypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groups"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

// start is a whole minute, so that periods are easy to count.
var start = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// world is a served world; its clients do not retry.
type world struct {
	*fakeaws.Server
	url string
}

func serve(t *testing.T, s model.Settings) world {
	t.Helper()
	s.Start = start
	server := fakeaws.New(model.New(s))
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	t.Cleanup(server.Close)
	return world{server, web.URL}
}

// plain keeps an answer that comes at once from ending its own connection.
var plain = []func(*middleware.Stack) error{awsapi.PlainBody}

func keys() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")
}

func (w world) autoscaling() *autoscaling.Client {
	return autoscaling.New(autoscaling.Options{BaseEndpoint: &w.url, Region: "us-east-1", Credentials: keys(),
		RetryMaxAttempts: 1, APIOptions: plain})
}

func (w world) cloudwatch(o ...func(*cloudwatch.Options)) *cloudwatch.Client {
	return cloudwatch.New(cloudwatch.Options{BaseEndpoint: &w.url, Region: "us-east-1", Credentials: keys(),
		RetryMaxAttempts: 1, APIOptions: plain}, o...)
}

func (w world) sqs() *sqs.Client {
	return sqs.New(sqs.Options{BaseEndpoint: &w.url, Region: "us-east-1", Credentials: keys(), RetryMaxAttempts: 1,
		APIOptions: plain})
}

// must fails the test on an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// code is the error code that a client sees.
func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	if err != nil {
		return "no answer"
	}
	return ""
}

// workers makes a group of two zones that the tests size.
func workers(t *testing.T, w world, desired, most int32) *autoscaling.Client {
	t.Helper()
	c := w.autoscaling()
	must(c.CreateAutoScalingGroup(t.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("workers"), MinSize: aws.Int32(0), MaxSize: &most, DesiredCapacity: &desired,
		AvailabilityZones: []string{"us-east-1a", "us-east-1b"},
		LaunchTemplate: &autotypes.LaunchTemplateSpecification{LaunchTemplateName: aws.String("worker"),
			Version: aws.String("$Latest")},
		Tags: []autotypes.Tag{{Key: aws.String("team"), Value: aws.String("images"),
			PropagateAtLaunch: aws.Bool(true)}},
	}))(t)
	return c
}

func group(t *testing.T, c *autoscaling.Client) autotypes.AutoScalingGroup {
	t.Helper()
	out := must(c.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"workers"}}))(t)
	if len(out.AutoScalingGroups) != 1 {
		t.Fatalf("%d groups, want 1", len(out.AutoScalingGroups))
	}
	return out.AutoScalingGroups[0]
}

func in(g autotypes.AutoScalingGroup, s autotypes.LifecycleState) (ids []string) {
	for _, i := range g.Instances {
		if i.LifecycleState == s {
			ids = append(ids, *i.InstanceId)
		}
	}
	return ids
}

func TestAGroupOverTheWireLaunchesProtectsAndEnds(t *testing.T) {
	w := serve(t, model.Settings{Machines: groups.Machines{Boot: time.Minute}})
	c := workers(t, w, 3, 10)
	w.Advance(30 * time.Second)
	if g := group(t, c); len(in(g, autotypes.LifecycleStatePending)) != 3 || *g.DesiredCapacity != 3 ||
		!g.CreatedTime.Equal(start) || *g.Tags[0].Value != "images" {
		t.Fatalf("after 30 s: %d pending of %d, created %v", len(in(g, autotypes.LifecycleStatePending)),
			*g.DesiredCapacity, g.CreatedTime)
	}
	w.Advance(time.Minute)
	busy := in(group(t, c), autotypes.LifecycleStateInService)
	if len(busy) != 3 {
		t.Fatalf("in service: %d, want 3", len(busy))
	}
	must(c.SetInstanceProtection(t.Context(), &autoscaling.SetInstanceProtectionInput{
		AutoScalingGroupName: aws.String("workers"), InstanceIds: busy[:2], ProtectedFromScaleIn: aws.Bool(true)}))(t)
	must(c.SetDesiredCapacity(t.Context(),
		&autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"),
			DesiredCapacity: aws.Int32(0)}))(t)
	w.Advance(5 * time.Minute)
	if left := in(group(t, c), autotypes.LifecycleStateInService); !slices.Equal(left, busy[:2]) {
		t.Fatalf("scale-in to 0 left %v, want the protected %v", left, busy[:2])
	}
	out := must(c.DescribeScalingActivities(t.Context(),
		&autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("workers")}))(t)
	if n := len(out.Activities); n != 5 ||
		out.Activities[0].StatusCode != autotypes.ScalingActivityStatusCodeCancelled ||
		out.Activities[4].EndTime == nil {
		t.Fatalf("%d activities, the newest %+v", n, out.Activities[0])
	}
	if u := w.Unmodelled(); len(u) != 0 {
		t.Errorf("members without a model: %v", u)
	}
}

func TestErrorsOfAutoScalingResolveToTheirTypes(t *testing.T) {
	w := serve(t, model.Settings{})
	c := workers(t, w, 1, 3)
	_, err := c.SetDesiredCapacity(t.Context(),
		&autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"),
			DesiredCapacity: aws.Int32(4)})
	if code(err) != "ValidationError" || !strings.Contains(err.Error(), "above max value 3") {
		t.Errorf("above max: %v", err)
	}
	w.Advance(2 * time.Second)
	_, err = c.SetDesiredCapacity(t.Context(),
		&autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"), DesiredCapacity: aws.Int32(2),
			HonorCooldown: aws.Bool(true)})
	if _, ok := errors.AsType[*autotypes.ScalingActivityInProgressFault](err); !ok {
		t.Errorf("while it launches, with HonorCooldown: %v", err)
	}
	_, err = c.DescribeWarmPool(t.Context(),
		&autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: aws.String("nobody")})
	if code(err) != "ValidationError" {
		t.Errorf("unknown group: %v", err)
	}
	_, err = c.DescribeAccountLimits(t.Context(), &autoscaling.DescribeAccountLimitsInput{})
	if code(err) != "InvalidAction" {
		t.Errorf("an action that the model does not have: %v", err)
	}
}

func TestCloudWatchOverEachOfItsProtocols(t *testing.T) {
	for _, p := range []struct {
		name   string
		choose func(*cloudwatch.Options)
	}{
		{"cbor, as the SDK speaks by itself", func(*cloudwatch.Options) {}},
		{"query, as older clients speak",
			func(o *cloudwatch.Options) { o.Protocol = awsquery.New(schemas.GraniteServiceVersion20100801) }},
		{"json 1.0", func(o *cloudwatch.Options) { o.Protocol = awsjson.New10(schemas.GraniteServiceVersion20100801) }},
	} {
		t.Run(p.name, func(t *testing.T) {
			w := serve(t, model.Settings{})
			c := w.cloudwatch(p.choose)
			w.Advance(90 * time.Second)
			must(c.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("Muster"),
				MetricData: []cwtypes.MetricDatum{
					{MetricName: aws.String("Backlog"), Timestamp: aws.Time(start.Add(10 * time.Second)),
						Value: aws.Float64(12), Dimensions: []cwtypes.Dimension{{Name: aws.String("Queue"),
							Value: aws.String("q")}}},
					{MetricName: aws.String("Backlog"), Timestamp: aws.Time(start.Add(70 * time.Second)),
						Values: []float64{1, 5}, Counts: []float64{3, 1},
						Dimensions: []cwtypes.Dimension{{Name: aws.String("Queue"), Value: aws.String("q")}}},
				}}))(t)
			out := must(c.GetMetricData(t.Context(), &cloudwatch.GetMetricDataInput{
				StartTime: aws.Time(start), EndTime: aws.Time(start.Add(2 * time.Minute)),
				ScanBy: cwtypes.ScanByTimestampAscending,
				MetricDataQueries: []cwtypes.MetricDataQuery{
					{Id: aws.String("b"), ReturnData: aws.Bool(false),
						MetricStat: &cwtypes.MetricStat{Period: aws.Int32(60), Stat: aws.String("Sum"),
							Metric: &cwtypes.Metric{Namespace: aws.String("Muster"), MetricName: aws.String("Backlog"),
								Dimensions: []cwtypes.Dimension{{Name: aws.String("Queue"), Value: aws.String("q")}}}}},
					{Id: aws.String("half"), Expression: aws.String("b / 2"), Label: aws.String("half the backlog")},
				}}))(t)
			r := out.MetricDataResults
			if len(r) != 1 || *r[0].Label != "half the backlog" || !slices.Equal(r[0].Values, []float64{6, 4}) ||
				!r[0].Timestamps[1].Equal(start.Add(time.Minute)) {
				t.Fatalf("got %+v", r)
			}
			must(c.PutMetricAlarm(t.Context(), &cloudwatch.PutMetricAlarmInput{AlarmName: aws.String("much"),
				Namespace: aws.String("Muster"), MetricName: aws.String("Backlog"),
				Dimensions: []cwtypes.Dimension{{Name: aws.String("Queue"), Value: aws.String("q")}},
				Statistic:  cwtypes.StatisticSum, Period: aws.Int32(60),
				EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(7),
				ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold}))(t)
			w.Advance(time.Minute)
			alarms := must(c.DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{}))(t).MetricAlarms
			if len(alarms) != 1 || alarms[0].StateValue != cwtypes.StateValueAlarm || *alarms[0].Threshold != 7 {
				t.Fatalf("alarms: %+v", alarms)
			}
			_, err := c.DeleteAlarms(t.Context(), &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{"none"}})
			if _, ok := errors.AsType[*cwtypes.ResourceNotFound](err); !ok {
				t.Errorf("an alarm that is not there: %v", err)
			}
		})
	}
}

func TestALargePutComesPackedAndIsUnpacked(t *testing.T) {
	w := serve(t, model.Settings{})
	c := w.cloudwatch()
	var all []cwtypes.MetricDatum
	for n := range 1000 {
		all = append(all, cwtypes.MetricDatum{MetricName: aws.String(fmt.Sprint("metric-with-a-long-name-", n)),
			Value: aws.Float64(float64(n))})
	}
	must(c.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("Muster"),
		MetricData: all}))(t)
	pages := cloudwatch.NewListMetricsPaginator(c, &cloudwatch.ListMetricsInput{Namespace: aws.String("Muster")})
	n := 0
	for pages.HasMorePages() {
		n += len(must(pages.NextPage(t.Context()))(t).Metrics)
	}
	if n != len(all) {
		t.Errorf("%d metrics are listed, want %d", n, len(all))
	}
}

func TestQueueCountsAreLateAsTheSettingsSay(t *testing.T) {
	w := serve(t, model.Settings{Counts: queues.Counts{Stale: time.Minute}})
	c := w.sqs()
	made := must(c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("jobs")}))(t)
	w.Advance(time.Minute)
	w.Do(func(m *model.World) {
		if err := m.SQS().SetQueue("jobs", queues.QueueCounts{Visible: 40, NotVisible: 2},
			queues.Traffic{Sent: 42}); err != nil {
			t.Fatal(err)
		}
	})
	look := func() string {
		t.Helper()
		out := must(c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: made.QueueUrl,
			AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameApproximateNumberOfMessages}}))(t)
		return out.Attributes["ApproximateNumberOfMessages"]
	}
	if n := look(); n != "0" {
		t.Errorf("at once: %s messages, want the 0 of a minute ago", n)
	}
	w.Advance(time.Minute)
	if n := look(); n != "40" {
		t.Errorf("a minute later: %s messages, want 40", n)
	}
	_, err := c.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("none")})
	if _, ok := errors.AsType[*sqstypes.QueueDoesNotExist](err); !ok ||
		code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("a queue that is not there: %v", err)
	}
}

func TestTroublesComeAsAWSSendsThem(t *testing.T) {
	for _, x := range []struct {
		trouble account.Trouble
		code    string
	}{
		{account.AccessDenied, "AccessDenied"}, {account.ExpiredToken, "ExpiredToken"}, {account.Throttled,
			"Throttling"},
		{account.InternalFailure, "InternalFailure"}, {account.Contention, "ResourceContention"},
		{account.LostAnswer, "no answer"},
	} {
		t.Run(string(x.trouble), func(t *testing.T) {
			w := serve(t, model.Settings{})
			c := workers(t, w, 1, 3)
			w.Do(func(m *model.World) {
				m.Inject(account.Injection{Trouble: x.trouble, Service: account.AutoScalingService,
					Action: "SetDesiredCapacity", Times: 1})
			})
			set := &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"),
				DesiredCapacity: aws.Int32(2)}
			if _, err := c.SetDesiredCapacity(t.Context(), set); code(err) != x.code {
				t.Errorf("got %v, want %s", err, x.code)
			}
			want := int32(1)
			if x.trouble == account.LostAnswer {
				want = 2 // the action itself was carried out
			}
			if got := *group(t, c).DesiredCapacity; got != want {
				t.Errorf("desired is %d, want %d", got, want)
			}
			must(c.SetDesiredCapacity(t.Context(), set))(t)
		})
	}
}

func TestACallThatHangsEndsWithTheClientsPatience(t *testing.T) {
	w := serve(t, model.Settings{})
	w.Do(func(m *model.World) { m.Inject(account.Injection{Trouble: account.Timeout}) })
	c := autoscaling.New(autoscaling.Options{BaseEndpoint: &w.url, Region: "us-east-1", Credentials: keys(),
		RetryMaxAttempts: 1,
		HTTPClient:       &http.Client{Timeout: 50 * time.Millisecond}})
	if _, err := c.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{}); code(err) != "no answer" {
		t.Errorf("got %v", err)
	}
}

func TestThrottlingFollowsTheTokenBucket(t *testing.T) {
	w := serve(t, model.Settings{Rates: []account.Rate{{Service: account.AutoScalingService, Burst: 3,
		PerSecond: 0.5}}})
	c := w.autoscaling()
	try := func() string {
		_, err := c.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
		return code(err)
	}
	for n, want := range []string{"", "", "", "Throttling"} {
		if got := try(); got != want {
			t.Errorf("call %d: %q, want %q", n+1, got, want)
		}
	}
	w.Advance(2 * time.Second)
	if got := try(); got != "" {
		t.Errorf("after the time of one token: %q", got)
	}
	if n := w.Calls("DescribeAutoScalingGroups"); n != 5 {
		t.Errorf("counted %d calls, want 5", n)
	}
}

func TestARequestWithoutASignatureForThisRegionIsRefused(t *testing.T) {
	w := serve(t, model.Settings{})
	elsewhere := autoscaling.New(autoscaling.Options{BaseEndpoint: &w.url, Region: "eu-west-1", Credentials: keys(),
		RetryMaxAttempts: 1, APIOptions: plain})
	if _, err := elsewhere.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{}); code(err) != "SignatureDoesNotMatch" {
		t.Errorf("signed for another region: %v", err)
	}
	unsigned := autoscaling.New(autoscaling.Options{BaseEndpoint: &w.url, Region: "us-east-1",
		Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 1, APIOptions: plain})
	if _, err := unsigned.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{}); code(err) != "MissingAuthenticationToken" {
		t.Errorf("not signed: %v", err)
	}
}
