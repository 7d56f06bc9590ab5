package fakeaws_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// ask sends a body to a small world that has a bit of everything, lets an hour pass, and returns what came.
func ask(t *testing.T, service, protocol, action string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	w := model.New(model.Settings{Start: start, Seed: 1})
	if _,
		err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
		AutoScalingGroupName: "g",
		MinSize:              new(int), MaxSize: ptr(5), DesiredCapacity: ptr(2),
		AvailabilityZones: []string{"us-east-1a"}, LaunchConfigurationName: "l"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ECS().CreateCluster(containers.CreateClusterInput{ClusterName: "default"}); err != nil {
		t.Fatal(err)
	}
	w.Advance(start.Add(5 * time.Minute))
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261102/us-east-1/"+service+
		"/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("X-Amz-Date", "20261102T090000Z")
	switch protocol {
	case "cbor":
		r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
		r.URL.Path = "/service/GraniteServiceVersion20100801/operation/" + action
	case "json":
		target := map[string]string{"ecs": "AmazonEC2ContainerServiceV20141113",
			"application-autoscaling": "AnyScaleFrontendService", "sqs": "AmazonSQS",
			"monitoring": "GraniteServiceVersion20100801"}[service]
		r.Header.Set("X-Amz-Target", target+"."+action)
	}
	out := httptest.NewRecorder()
	server := fakeaws.New(w)
	server.ServeHTTP(out, r)
	server.Advance(time.Hour)
	return out
}

func ptr[T any](v T) *T { return &v }

// readable says what is wrong with the body of an answer.
func readable(protocol string, out *httptest.ResponseRecorder) error {
	switch {
	case protocol == "cbor":
		_, err := cbor.Decode(out.Body.Bytes())
		return err
	case protocol == "json":
		if !json.Valid(out.Body.Bytes()) {
			return errors.New("no JSON")
		}
		return nil
	}
	d := xml.NewDecoder(bytes.NewReader(out.Body.Bytes()))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// FuzzAnyRequestIsAnswered holds that whatever is sent gets an answer in its own protocol that blames the sender or
// nobody, that the world goes on, and that the same request gives the same answer.
func FuzzAnyRequestIsAnswered(f *testing.F) {
	f.Add("autoscaling", "query", "",
		[]byte("Action=SetDesiredCapacity&AutoScalingGroupName=g&DesiredCapacity=3&Version=2011-01-01"))
	f.Add("autoscaling", "query", "",
		[]byte("Action=PutLifecycleHook&AutoScalingGroupName=g&LifecycleHookName=h&LifecycleTransition=autoscaling:EC2_INSTANCE_LAUNCHING&HeartbeatTimeout=30"))
	f.Add("autoscaling", "query", "",
		[]byte("Action=SuspendProcesses&AutoScalingGroupName=g&ScalingProcesses.member.1=Launch&ScalingProcesses.member.x=Y"))
	f.Add("autoscaling", "query", "",
		[]byte("Action=LaunchInstances&AutoScalingGroupName=g&RequestedCapacity=1e99&ClientToken=a"))
	f.Add("monitoring", "query", "",
		[]byte("Action=PutMetricData&Namespace=M&MetricData.member.1.MetricName=m&MetricData.member.1.Value=NaN"))
	f.Add("monitoring", "json", "GetMetricData",
		[]byte(`{"StartTime":0,"EndTime":99999999999,"MetricDataQueries":[{"Id":"m","Expression":"TIME_SERIES(1)"}]}`))
	f.Add("monitoring", "json", "PutMetricAlarm",
		[]byte(`{"AlarmName":"a","MetricName":"m","Namespace":"M","Statistic":"Sum","Period":10,"EvaluationPeriods":90,"Threshold":1e308,"ComparisonOperator":"LessThanThreshold"}`))
	f.Add("monitoring", "cbor", "PutMetricData",
		cbor.Encode(cbor.Map{"Namespace": cbor.String("M"),
			"MetricData": cbor.List{cbor.Map{"MetricName": cbor.String("m"), "Value": cbor.Float64(1)}}}))
	f.Add("ecs", "json", "RegisterTaskDefinition",
		[]byte(`{"family":"f","cpu":"-5","containerDefinitions":[{"name":"c","cpu":2147483648}]}`))
	f.Add("ecs", "json", "RegisterTaskDefinition",
		[]byte(`{"cpu":4,"containerDefinitions":"two faults: which is told must not hang on the order of a map"}`))
	f.Add("ecs", "json", "RunTask", []byte(`{"taskDefinition":"f","count":2.5,"overrides":null}`))
	f.Add("application-autoscaling", "json", "RegisterScalableTarget",
		[]byte(`{"ServiceNamespace":"ecs","ResourceId":"service/default/s","ScalableDimension":"ecs:service:DesiredCount"}`))
	f.Add("sqs", "json", "CreateQueue", []byte(`{"QueueName":"q","Attributes":{"FifoQueue":true}}`))
	f.Add("sqs", "json", "ListQueues", []byte(`{"NextToken":"from-9"}`))
	f.Fuzz(func(t *testing.T, service, protocol, action string, body []byte) {
		if strings.ContainsAny(service+action, " ,/?#%\x00") || len(body) > 1<<16 {
			return
		}
		out := ask(t, service, protocol, action, body)
		if out.Code != 200 && (out.Code < 400 || out.Code > 499) {
			t.Fatalf("status %d: %s", out.Code, out.Body)
		}
		answered := protocol
		if protocol != "cbor" && strings.HasPrefix(out.Header().Get("Content-Type"), "application/x-amz-json") {
			answered = "json" // services that speak nothing else
		} else if protocol == "json" {
			answered = "query"
		}
		again := ask(t, service, protocol, action, body)
		if out.Body.String() != again.Body.String() && answered != "cbor" { // maps have no order in CBOR
			t.Fatalf("twice the same request:\n%s\n%s", out.Body, again.Body)
		}
		if err := readable(answered, out); err != nil {
			t.Fatalf("an answer that cannot be read: %v: %q", err, out.Body)
		}
	})
}
