//go:build interop

// Package amazon_test makes every call that the adapters for AWS make to a stand-in of other people, and reads back
// what came of it. The stand-in is where AWS_ENDPOINT_URL says. It shows that requests and answers are understood; what
// AWS does with them is modelled in sim/cloud. What the stand-in does not have, such as the protection of tasks, is
// tested there alone.
package amazon_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	apptypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/channel/sns"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/source/sqs"
)

// desk is an account at the stand-in.
type desk struct {
	*testing.T
	account *awsapi.Account
	config  aws.Config
}

func open(t *testing.T) desk {
	t.Helper()
	account, err := awsapi.Open(t.Context(), awsapi.Options{PerSecond: 1000, Burst: 1000})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := account.Region("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	return desk{t, account, cfg}
}

func (d desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// query has the client for metrics speak the Query protocol, the one that the stand-in knows.
func query(o *cloudwatch.Options) { o.Protocol = awsquery.New(schemas.GraniteServiceVersion20100801) }

// living are the members of a fleet that have not ended.
func (d desk) living(f muster.Fleet) (ids []string) {
	d.Helper()
	if e, ok := f.(muster.Expecter); ok {
		e.Expect()
	}
	l, err := f.Members(d.Context())
	d.must(err)
	for _, m := range l.Members {
		if !m.Ended {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// group makes an Auto Scaling group.
func (d desk) group(name string) *autoscaling.Client {
	d.Helper()
	c := autoscaling.NewFromConfig(d.config)
	_, err := c.CreateLaunchConfiguration(d.Context(), &autoscaling.CreateLaunchConfigurationInput{
		LaunchConfigurationName: aws.String(name), ImageId: aws.String("ami-12c6146b"),
		InstanceType: aws.String("t2.micro"),
	})
	d.must(err)
	_, err = c.CreateAutoScalingGroup(d.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(name), LaunchConfigurationName: aws.String(name), MinSize: aws.Int32(0),
		MaxSize: aws.Int32(5), DesiredCapacity: aws.Int32(0),
		AvailabilityZones: []string{"us-east-1a"},
	})
	d.must(err)
	return c
}

func TestQueue(t *testing.T) {
	d := open(t)
	c := awssqs.NewFromConfig(d.config)
	made, err := c.CreateQueue(d.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("work")})
	d.must(err)
	for range 3 {
		_, err := c.SendMessage(d.Context(),
			&awssqs.SendMessageInput{QueueUrl: made.QueueUrl, MessageBody: aws.String("x")})
		d.must(err)
	}
	source, err := sqs.NewQueues(sqs.Options{Account: d.account,
		Metrics: awsmetrics.NewReader(d.account, query)}).Queue(*made.QueueUrl, time.Second)
	d.must(err)
	o, err := source.Observe(d.Context())
	d.must(err)
	if !o.Backlog.Known || o.Backlog.Value != 3 || !o.InFlight.Known || o.InFlight.Value != 0 {
		t.Errorf("measured %+v, want a backlog of 3", o)
	}
}

func TestGroup(t *testing.T) {
	d := open(t)
	c := d.group("web")
	f, err := asg.NewGroups(d.account).Fleet(asg.Options{Group: "web", Region: "us-east-1", Max: 5, Launch: asg.BySize})
	d.must(err)
	d.must(f.SetDesired(d.Context(), muster.Order{ID: "o.1", Desired: 3, Total: 3, Launch: []string{"a", "b", "c"}}))
	all := d.living(f)
	if len(all) != 3 {
		t.Fatalf("%v live, want 3", all)
	}
	d.must(f.Protect(d.Context(), all))
	d.must(f.End(d.Context(), all[:1]))
	if left := d.living(f); len(left) != 2 {
		t.Errorf("%v are left, want 2", left)
	}
	out, err := c.DescribeAutoScalingGroups(d.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"web"}})
	d.must(err)
	if n := *out.AutoScalingGroups[0].DesiredCapacity; n != 2 {
		t.Errorf("the group's size is %d, want 2", n)
	}
	for _, i := range out.AutoScalingGroups[0].Instances {
		if !*i.ProtectedFromScaleIn {
			t.Errorf("%s is not protected", *i.InstanceId)
		}
	}
	d.must(f.SetWarm(d.Context(), 1))
	f.Expect()
	if l, err := f.Members(d.Context()); err != nil || l.Ready == nil || len(l.Service.Notes) > 0 &&
		strings.Contains(strings.Join(l.Service.Notes, "\n"), "cannot be read") {
		t.Errorf("looked at the pool and found %+v, %v", l, err)
	}
	d.must(f.SetWarm(d.Context(), 0))
	if owners, err := f.Owners(d.Context()); err != nil || len(owners) != 0 {
		t.Errorf("found the owners %v, %v", owners, err)
	}
}

// cluster makes the cluster with the task definition work.
func (d desk) cluster(name string) *awsecs.Client {
	d.Helper()
	c := awsecs.NewFromConfig(d.config)
	_, err := c.CreateCluster(d.Context(), &awsecs.CreateClusterInput{ClusterName: aws.String(name)})
	d.must(err)
	_, err = c.RegisterTaskDefinition(d.Context(), &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String("work"), Cpu: aws.String("256"), Memory: aws.String("512"),
		NetworkMode:             ecstypes.NetworkModeAwsvpc,
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("work"), Image: aws.String("work:1"),
			Memory: aws.Int32(128)}},
	})
	d.must(err)
	return c
}

func (d desk) service(c *awsecs.Client, cluster string) {
	d.Helper()
	_, err := c.CreateService(d.Context(), &awsecs.CreateServiceInput{
		Cluster: aws.String(cluster), ServiceName: aws.String("web"), TaskDefinition: aws.String("work"),
		DesiredCount: aws.Int32(0), LaunchType: ecstypes.LaunchTypeFargate,
	})
	d.must(err)
}

func TestService(t *testing.T) {
	d := open(t)
	c := d.cluster("services")
	d.service(c, "services")
	d.group("hosts")
	group, err := asg.NewGroups(d.account).Fleet(asg.Options{Group: "hosts", Region: "us-east-1", Max: 5,
		Launch: asg.BySize})
	d.must(err)
	f, err := ecs.NewClusters(d.account).Service(ecs.ServiceOptions{
		Cluster: "services", Service: "web", Region: "us-east-1",
		Capacity: &ecs.Capacity{TasksPerInstance: 2, Group: group, Ender: group, Name: "hosts"},
	})
	d.must(err)
	d.must(f.SetDesired(d.Context(), muster.Order{ID: "o.1", Desired: 3, Total: 3, Launch: []string{"a", "b", "c"}}))
	out, err := c.DescribeServices(d.Context(), &awsecs.DescribeServicesInput{Cluster: aws.String("services"),
		Services: []string{"web"}})
	d.must(err)
	if n := out.Services[0].DesiredCount; n != 3 || len(d.living(group)) != 2 {
		t.Errorf("the count is %d on %d instances, want 3 on 2", n, len(d.living(group)))
	}
	f.Expect()
	if l, err := f.Members(d.Context()); err != nil || l.Service.Desired != 3 {
		t.Errorf("listed %+v, %v", l, err)
	}
	if _, err := f.Owners(d.Context()); err != nil {
		t.Errorf("ask who else sizes it: %v", err)
	}
	missing, err := ecs.NewClusters(d.account).Service(ecs.ServiceOptions{Cluster: "services", Service: "nothing",
		Region: "us-east-1"})
	d.must(err)
	if _, err := missing.Members(d.Context()); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("a service that does not exist: %v", err)
	}
}

// found returns the first of what an action of EC2 lists, by the name of its element: no client of EC2 is worth its
// size here.
func (d desk) found(action, element string) string {
	d.Helper()
	r, err := http.NewRequestWithContext(d.Context(), http.MethodPost, os.Getenv("AWS_ENDPOINT_URL"),
		strings.NewReader("Version=2016-11-15&Action="+action))
	d.must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ec2/aws4_request, "+
		"SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	d.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	d.must(err)
	_, rest, _ := strings.Cut(string(text), "<"+element+">")
	value, _, ok := strings.Cut(rest, "</"+element+">")
	if !ok {
		d.Fatalf("%s lists no %s: %.300s", action, element, text)
	}
	return value
}

func TestTasks(t *testing.T) {
	d := open(t)
	subnet, group := d.found("DescribeSubnets", "subnetId"), d.found("DescribeSecurityGroups", "groupId")
	d.cluster("tasks")
	f, err := ecs.NewClusters(d.account).Tasks(ecs.TaskOptions{
		Fleet: "web", Cluster: "tasks", Region: "us-east-1", Definition: "work", LaunchType: "FARGATE",
		Network: ecs.Network{Subnets: []string{subnet}, SecurityGroups: []string{group}},
	})
	d.must(err)
	var names []string
	for i := range 12 {
		names = append(names, string(rune('a'+i)))
	}
	d.must(f.SetDesired(d.Context(), muster.Order{ID: "o.1", Desired: 12, Total: 12, Launch: names}))
	all := d.living(f)
	if len(all) != 12 {
		t.Fatalf("%d tasks live, want 12", len(all))
	}
	d.must(f.End(d.Context(), all[:1]))
	if left := d.living(f); len(left) != 11 {
		t.Errorf("%d tasks are left, want 11", len(left))
	}
}

func handover(target float64) muster.Handover {
	now := time.Now().UTC()
	return muster.Handover{
		ID: "x", At: now, Target: target, Backlog: muster.Measured(now, 150), InFlight: muster.Measured(now, 10),
		Capacity:   muster.Capacity{Known: true, Idle: 10, Slots: 10, SlotsPerWorker: 1},
		Processing: muster.Estimate{Known: true, MeanSeconds: 25},
	}
}

func TestDelegatedGroup(t *testing.T) {
	d := open(t)
	c := d.group("delegated")
	for _, math := range []bool{false, true} {
		o := delegate.Options{
			Account: d.account, Region: "us-east-1", Fleet: "group", Group: "delegated", Queues: []string{"work"},
			Formula: delegate.BacklogPerWorker, Math: math,
			CloudWatch: []func(*cloudwatch.Options){query},
		}
		if math {
			o.Fleet = "math"
		}
		for range 2 {
			one, err := delegate.New(o)
			d.must(err)
			d.must(one.HandOver(d.Context(), handover(12)))
		}
		out, err := c.DescribePolicies(d.Context(),
			&autoscaling.DescribePoliciesInput{AutoScalingGroupName: aws.String("delegated"),
				PolicyNames: []string{delegate.PolicyName(o.Fleet)}})
		d.must(err)
		if len(out.ScalingPolicies) != 1 || *out.ScalingPolicies[0].TargetTrackingConfiguration.TargetValue != 12 {
			t.Fatalf("found the policies %+v", out.ScalingPolicies)
		}
		m := out.ScalingPolicies[0].TargetTrackingConfiguration.CustomizedMetricSpecification
		if math && len(m.Metrics) != 5 || !math &&
			(aws.ToString(m.MetricName) != "BacklogPerWorker" || len(m.Dimensions) != 1) {
			t.Errorf("tracked is %+v", m)
		}
	}
	metrics := cloudwatch.NewFromConfig(d.config, query)
	got, err := metrics.GetMetricStatistics(d.Context(), &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("Muster"), MetricName: aws.String("BacklogPerWorker"),
		Dimensions: []cwtypes.Dimension{{Name: aws.String("Fleet"), Value: aws.String("group")}},
		StartTime:  aws.Time(time.Now().Add(-5 * time.Minute)), EndTime: aws.Time(time.Now().Add(time.Minute)),
		Period: aws.Int32(60), Statistics: []cwtypes.Statistic{cwtypes.StatisticMaximum},
	})
	d.must(err)
	if len(got.Datapoints) == 0 || *got.Datapoints[0].Maximum != 15 {
		t.Errorf("read back %+v, want 15", got.Datapoints)
	}
	read := awsmetrics.NewReader(d.account, query).Newest(d.Context(), "us-east-1", metricmath.MetricStat{
		Metric: metricmath.Metric{Namespace: "Muster", MetricName: "BacklogPerWorker",
			Dimensions: []metricmath.Dimension{{Name: "Fleet", Value: "group"}}}, Stat: "Maximum", PeriodSeconds: 60,
	})
	if len(read) != 1 || strings.Contains(read[0].Reason, "failed") {
		t.Errorf("read %+v", read)
	}
}

func TestDelegatedService(t *testing.T) {
	d := open(t)
	d.service(d.cluster("delegated"), "delegated")
	o := delegate.Options{
		Account: d.account, Region: "us-east-1", Fleet: "service", Cluster: "delegated", Service: "web", Max: 9,
		Queues: []string{"work"}, Formula: delegate.Utilization, Math: true,
		CloudWatch: []func(*cloudwatch.Options){query},
	}
	for range 2 {
		one, err := delegate.New(o)
		d.must(err)
		d.must(one.HandOver(d.Context(), handover(0.7)))
	}
	c := applicationautoscaling.NewFromConfig(d.config)
	targets, err := c.DescribeScalableTargets(d.Context(),
		&applicationautoscaling.DescribeScalableTargetsInput{ServiceNamespace: apptypes.ServiceNamespaceEcs})
	d.must(err)
	policies, err := c.DescribeScalingPolicies(d.Context(),
		&applicationautoscaling.DescribeScalingPoliciesInput{ServiceNamespace: apptypes.ServiceNamespaceEcs})
	d.must(err)
	if len(targets.ScalableTargets) != 1 || *targets.ScalableTargets[0].MaxCapacity != 9 ||
		len(policies.ScalingPolicies) != 1 ||
		*policies.ScalingPolicies[0].TargetTrackingScalingPolicyConfiguration.TargetValue != 0.7 {
		t.Errorf("found the targets %+v and the policies %+v", targets.ScalableTargets, policies.ScalingPolicies)
	}
}

// TestANoticeReachesTheSubscribersOfATopic publishes to a standard and to a FIFO topic, each with a queue subscribed.
func TestANoticeReachesTheSubscribersOfATopic(t *testing.T) {
	d := open(t)
	queues := awssqs.NewFromConfig(d.config)
	for _, suffix := range []string{"", ".fifo"} {
		ask := func(form url.Values) string {
			form.Set("Version", "2010-03-31")
			body, err := d.account.Query(t.Context(), time.Now(), "sns", "us-east-1", form)
			d.must(err)
			return string(body)
		}
		create := url.Values{"Action": {"CreateTopic"}, "Name": {"notices" + suffix}}
		attributes := map[string]string{}
		if suffix != "" {
			create.Set("Attributes.entry.1.key", "FifoTopic")
			create.Set("Attributes.entry.1.value", "true")
			attributes["FifoQueue"] = "true"
		}
		_, rest, _ := strings.Cut(ask(create), "<TopicArn>")
		topic, _, _ := strings.Cut(rest, "</TopicArn>")
		made, err := queues.CreateQueue(t.Context(), &awssqs.CreateQueueInput{
			QueueName: aws.String("notices" + suffix), Attributes: attributes})
		d.must(err)
		arn := strings.Replace(topic, ":sns:", ":sqs:", 1) // queue and topic have the same name
		ask(url.Values{"Action": {"Subscribe"}, "TopicArn": {topic}, "Protocol": {"sqs"}, "Endpoint": {arn}})
		n := incident.NewTest(time.Now()).From("web-1")
		_, err = (&sns.Config{Topic: topic}).Open(kind.NewHost(kind.HostOptions{}), "").Send(t.Context(), n)
		d.must(err)
		got, err := queues.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: made.QueueUrl})
		d.must(err)
		if len(got.Messages) != 1 || !strings.Contains(*got.Messages[0].Body, n.Text) {
			t.Errorf("the subscriber of %s got %+v, want %q", topic, got.Messages, n.Text)
		}
	}
}
