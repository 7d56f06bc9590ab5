package event_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/event"
)

// fleets are one of each kind.
var fleets = []event.Fleet{
	{Name: "thumbs", Queues: []string{"thumbs"}, Has: members()},
	{Name: "video", Queues: []string{"https://sqs.eu-west-1.amazonaws.com/123456789012/video"}, Group: "encoders",
		Has: members("i-1", "i-2")},
	{Name: "pdf", Queues: []string{"pdf", "office"}, Cluster: "arn:aws:ecs:eu-west-1:123456789012:cluster/prod",
		Service: "pdf", Hosts: "machines", Has: members("t1")},
	{Name: "once", Queues: []string{"once"}, Cluster: "prod", Family: "once"},
}

// members returns what tells the ids of members.
func members(ids ...string) func(string) bool {
	return func(id string) bool { return slices.Contains(ids, id) }
}

const all = "thumbs video pdf once"

// envelope is what EventBridge sends.
func envelope(source, detailType, resources, detail string) string {
	return fmt.Sprintf(`{"version": "0", "id": "17793124-05d4", "detail-type": %q, "source": %q,
		"account": "123456789012", "time": "2026-11-23T17:00:00Z", "region": "eu-west-1", "resources": [%s],
		"detail": %s}`, detailType, source, resources, detail)
}

func task(group, arn string) string {
	return envelope("aws.ecs", "ECS Task State Change", `"`+arn+`"`, fmt.Sprintf(`{
		"clusterArn": "arn:aws:ecs:eu-west-1:123456789012:cluster/prod", "group": %q, "taskArn": %q, "version": 3,
		"taskDefinitionArn": "arn:aws:ecs:eu-west-1:123456789012:task-definition/once:7", "lastStatus": "STOPPED",
		"desiredStatus": "STOPPED", "stopCode": "SpotInterruption"}`, group, arn))
}

func ofGroup(detailType, group, instance string) string {
	return envelope("aws.autoscaling", detailType,
		`"arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:aa-bb:autoScalingGroupName/`+group+`"`,
		fmt.Sprintf(`{"AutoScalingGroupName": %q, "EC2InstanceId": %q, "Origin": "EC2"}`, group, instance))
}

func ofInstance(detailType, id string) string {
	return envelope("aws.ec2", detailType, `"arn:aws:ec2:eu-west-1a:instance/`+id+`"`,
		fmt.Sprintf(`{"instance-id": %q, "instance-action": "terminate"}`, id))
}

const upload = `{"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {
	"bucket": {"name": "uploads"}, "object": {"key": "a.png", "size": 1024, "sequencer": "0055AED6DCD90281E5"}}}]}`

func sns(message string) string {
	return fmt.Sprintf(`{"Type": "Notification", "MessageId": "sns-1", "TopicArn": "arn:aws:sns:eu-west-1:1:t",
		"Message": %q}`, message)
}

// cases are bodies of every format, what they are and whom they wake.
var cases = []struct {
	what, body string
	kind       event.Kind
	id, wakes  string
}{
	{"a program's own event, as the article sends it", envelope("my.app", "_scale_up", "", `{"timestamp": "1"}`),
		event.ScaleUp, "17793124-05d4", all},
	{"the article's event of an idle task", envelope("arn:aws:ecs:eu-west-1:123456789012:service/prod/pdf",
		"_scale_down", `"arn:aws:ecs:eu-west-1:123456789012:task/prod/t9"`, `{"timestamp": "1"}`), event.ScaleDown,
		"17793124-05d4", "pdf"},
	{"one that names a queue", envelope("my.app", "capacity request", "", `{"queue": "office", "desired": 90}`),
		event.CapacityRequest, "17793124-05d4", "pdf"},
	{"one that names a queue by its ARN", envelope("my.app", "orders", `"arn:aws:sqs:eu-west-1:123456789012:video"`,
		`{}`), event.Custom, "17793124-05d4", "video"},
	{"a task of a service", task("service:pdf", "arn:aws:ecs:eu-west-1:123456789012:task/prod/t1"), event.TaskState,
		"17793124-05d4", "pdf"},
	{"a task of a service of nobody", task("service:other", "arn:aws:ecs:eu-west-1:123456789012:task/prod/t7"),
		event.TaskState, "17793124-05d4", ""},
	{"a task without a service", task("family:once", "arn:aws:ecs:eu-west-1:123456789012:task/prod/t2"),
		event.TaskState, "17793124-05d4", "once"},
	{"a container instance", envelope("aws.ecs", "ECS Container Instance State Change",
		`"arn:aws:ecs:eu-west-1:123456789012:container-instance/prod/9"`,
		`{"clusterArn": "arn:aws:ecs:eu-west-1:123456789012:cluster/prod", "status": "DRAINING"}`), event.HostState,
		"17793124-05d4", "pdf once"},
	{"a service", envelope("aws.ecs", "ECS Service Action",
		`"arn:aws:ecs:eu-west-1:123456789012:service/prod/pdf"`,
		`{"clusterArn": "arn:aws:ecs:eu-west-1:123456789012:cluster/prod", "eventName": "SERVICE_STEADY_STATE"}`),
		event.ServiceAction, "17793124-05d4", "pdf"},
	{"a deployment", envelope("aws.ecs", "ECS Deployment State Change",
		`"arn:aws:ecs:eu-west-1:123456789012:service/prod/pdf"`, `{"eventName": "SERVICE_DEPLOYMENT_COMPLETED"}`),
		event.Deployment, "17793124-05d4", "pdf"},
	{"a Spot interruption", ofInstance("EC2 Spot Instance Interruption Warning", "i-2"), event.SpotInterruption,
		"17793124-05d4", "video pdf once"}, // pdf has instances under it, the members of once are not known yet
	{"a rebalance recommendation", ofInstance("EC2 Instance Rebalance Recommendation", "i-9"), event.Rebalance,
		"17793124-05d4", "pdf once"},
	{"a launched instance", ofGroup("EC2 Instance Launch Successful", "encoders", "i-3"), event.InstanceLaunch,
		"17793124-05d4", "video"},
	{"an instance under tasks", ofGroup("EC2 Instance Terminate Successful", "machines", "i-4"),
		event.InstanceTerminate, "17793124-05d4", "pdf"},
	{"a lifecycle hook", ofGroup("EC2 Instance-terminate Lifecycle Action", "encoders", "i-1"),
		event.InstanceLifecycle, "17793124-05d4", "video"},
	{"an instance of nobody's group", ofGroup("EC2 Instance Launch Successful", "others", "i-8"),
		event.InstanceLaunch, "17793124-05d4", ""},
	{"an upload, by EventBridge", envelope("aws.s3", "Object Created", `"arn:aws:s3:::uploads"`,
		`{"bucket": {"name": "uploads"}, "object": {"key": "a.png"}}`), event.ObjectCreated, "17793124-05d4", all},
	{"a recorded call", envelope("aws.sqs", "AWS API Call via CloudTrail", "",
		`{"eventName": "SendMessage", "requestParameters": {
			"queueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/video"}}`), event.APICall, "17793124-05d4",
		"video"},
	{"a change of the cloud without a name", envelope("aws.health", "AWS Health Event", "", `{}`), event.Custom,
		"17793124-05d4", all},
	{"an upload, from S3 itself", upload, event.ObjectCreated, "uploads a.png 0055AED6DCD90281E5", all},
	{"the first message of S3", `{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "uploads"}`, event.Test,
		"", ""},
	{"the first message of a group", `{"Event": "autoscaling:TEST_NOTIFICATION", "AutoScalingGroupName": "encoders"}`,
		event.Test, "", ""},
	{"a hook without EventBridge", `{"LifecycleHookName": "h", "AutoScalingGroupName": "encoders",
		"EC2InstanceId": "i-1", "LifecycleActionToken": "tok"}`, event.InstanceLifecycle, "tok", "video"},
	{"an upload in a topic", sns(upload), event.ObjectCreated, "uploads a.png 0055AED6DCD90281E5", all},
	{"a text in a topic", sns("wake up"), event.Unknown, "sns-1", all},
	{"a topic's confirmation", `{"Type": "SubscriptionConfirmation", "TopicArn": "arn:aws:sns:eu-west-1:1:t",
		"Message": "Please confirm", "SubscribeURL": "https://sns"}`, event.Test, "", ""},
	{"an alarm in a topic", sns(`{"AlarmName": "high", "NewStateValue": "ALARM", "Trigger": {"Dimensions": [
		{"name": "QueueName", "value": "pdf"}]}}`), event.Alarm, "sns-1", "pdf"},
	{"what a Lambda function gets of a queue", fmt.Sprintf(`{"Records": [{"messageId": "m1",
		"eventSource": "aws:sqs", "body": %q}]}`, `{"fleet": "thumbs", "kind": "worker_idle"}`), event.WorkerIdle, "m1",
		"thumbs"},
	{"what a Lambda function gets of a topic", `{"Records": [{"EventSource": "aws:sns", "Sns": {"MessageId": "m2",
		"Message": "{\"queue\": \"video\"}"}}]}`, event.Custom, "m2", "video"},
	{"Muster's own form", `{"fleet": "thumbs", "id": "x"}`, event.Custom, "x", "thumbs"},
	{"Muster's own form without a name", `{"id": "x"}`, event.Custom, "x", all},
	{"a queue of nobody", `{"queue": "other"}`, event.Custom, "", ""},
	{"no JSON", "hello", event.Unknown, "", all},
	{"an empty object", "{}", event.Unknown, "", all},
	{"nothing", "", event.Unknown, "", all},
}

func TestEveryFormatIsReadAndWakesTheFleetsThatItNames(t *testing.T) {
	for _, c := range cases {
		got := event.Read([]byte(c.body))
		if len(got) != 1 {
			t.Errorf("%s: read %d events, want 1", c.what, len(got))
			continue
		}
		if got[0].Kind != c.kind || got[0].ID != c.id {
			t.Errorf("%s: read the kind %q and the id %q, want %q and %q", c.what, got[0].Kind, got[0].ID, c.kind, c.id)
		}
		if wakes := strings.Join(event.Wakes(fleets, got...), " "); wakes != c.wakes {
			t.Errorf("%s: wakes %q, want %q; it is about %+v", c.what, wakes, c.wakes, got[0].Subject)
		}
	}
}

func TestEveryKindIsRead(t *testing.T) {
	read := map[event.Kind]bool{event.InstanceState: true} // has the form of other events of instances
	for _, c := range cases {
		read[c.kind] = true
	}
	for _, k := range event.Kinds() {
		if !read[k] {
			t.Errorf("no case has the kind %s", k)
		}
	}
}

// An event has no place for a number, whatever its sender wrote.
func TestAnEventHasTextsOnly(t *testing.T) {
	var only func(reflect.Type)
	only = func(x reflect.Type) {
		for i := range x.NumField() {
			switch f := x.Field(i); f.Type.Kind() {
			case reflect.String:
			case reflect.Struct:
				only(f.Type)
			default:
				t.Errorf("%s.%s is a %s: an event only causes a poll, so texts that name its subject suffice", x,
					f.Name, f.Type)
			}
		}
	}
	only(reflect.TypeFor[event.Event]())
}

func TestABodyOfManyEventsIsBoundedAndLosesNoWake(t *testing.T) {
	body := "[" + strings.Repeat(`{"fleet": "other"},`, 5000) + `{"fleet": "thumbs"}]`
	got := event.Read([]byte(body))
	if len(got) != event.MaxEvents || got[len(got)-1].Kind != event.Unknown {
		t.Fatalf("read %d events, the last one %q; want %d, the last for all beyond", len(got),
			got[len(got)-1].Kind, event.MaxEvents)
	}
	if wakes := strings.Join(event.Wakes(fleets, got...), " "); wakes != all {
		t.Errorf("wakes %q, want all", wakes)
	}
	deep := `{"fleet": "thumbs"}`
	for range 20 {
		deep = sns(deep)
	}
	for what, body := range map[string]string{"too deep": deep, "too large": strings.Repeat(" ", event.MaxBytes+1)} {
		if got := event.Read([]byte(body)); len(got) != 1 || got[0].Kind != event.Unknown {
			t.Errorf("%s: read %+v, want one unknown event", what, got)
		}
	}
}

func TestLongNamesAndIDsAreBoundedAndStayDifferent(t *testing.T) {
	long := strings.Repeat("x", 5000)
	a := event.Read([]byte(`{"queue": "` + long + `", "id": "` + long + `1"}`))[0]
	b := event.Read([]byte(`{"queue": "` + long + `", "id": "` + long + `2"}`))[0]
	if len(a.ID) > event.MaxID || len(a.Queue) > event.MaxName || a.ID == b.ID {
		t.Errorf("found ids %q and %q and a queue of %d bytes", a.ID, b.ID, len(a.Queue))
	}
	if wakes := event.Wakes(fleets, a); len(wakes) != 0 {
		t.Errorf("a name of 5,000 bytes wakes %q, want nothing", wakes)
	}
}

func TestAnIDIsRememberedForAQuarterOfAnHour(t *testing.T) {
	var s event.Seen
	start := time.Date(2026, 11, 23, 17, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		key   string
		after time.Duration
		first bool
	}{
		{"a", 0, true}, {"a", time.Minute, false}, {"b", time.Minute, true}, {"a", event.Remembered - 1, false},
		{"a", event.Remembered, true}, {"b", event.Remembered, false}, {"", 0, true}, {"", 0, true},
		{"c", -time.Hour, true}, {"c", -time.Hour, false}, // the clock was set back
	} {
		if got := s.First(c.key, start.Add(c.after)); got != c.first {
			t.Errorf("%q after %s: first is %v, want %v", c.key, c.after, got, c.first)
		}
	}
}

func TestAFloodOfIDsForgetsTheOldestOnes(t *testing.T) {
	var s event.Seen
	now := time.Date(2026, 11, 23, 17, 0, 0, 0, time.UTC)
	for i := range 5 * event.MaxSeen {
		if !s.First(fmt.Sprint(i), now) {
			t.Fatalf("id %d counts as repeated", i)
		}
	}
	for i, first := range map[int]bool{5*event.MaxSeen - 1: false, 4*event.MaxSeen + 10: false, 0: true} {
		if got := s.First(fmt.Sprint(i), now); got != first {
			t.Errorf("id %d: first is %v, want %v", i, got, first)
		}
	}
}

func TestAnEventIsTheSameOnlyForTheSameSubject(t *testing.T) {
	one := event.Event{ID: "x", Subject: event.Subject{Group: "a"}}
	other := event.Event{ID: "x", Subject: event.Subject{Group: "b"}}
	if one.Key() == other.Key() || (event.Event{}).Key() != "" {
		t.Errorf("keys %q and %q", one.Key(), other.Key())
	}
}

// FuzzRead holds that no body makes Read fail or exceed its bounds, and that a message for the queue of events which is
// no test wakes at least what it names.
func FuzzRead(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := event.Read(body)
		if len(got) > event.MaxEvents {
			t.Fatalf("read %d events", len(got))
		}
		for _, e := range got {
			if !slices.Contains(event.Kinds(), e.Kind) || len(e.ID) > event.MaxID ||
				max(len(e.Fleet), len(e.Queue), len(e.Group), len(e.Cluster), len(e.Service), len(e.Family),
					len(e.Member)) > event.MaxName {
				t.Fatalf("found %+v", e)
			}
			if wakes := event.Wakes(fleets, e); e.Subject == (event.Subject{}) && e.Kind != event.Test &&
				len(wakes) != len(fleets) {
				t.Fatalf("%+v names nothing and wakes %q, want all", e, wakes)
			}
			for _, fl := range fleets {
				if e.Fleet == fl.Name && e.Kind != event.Test && !e.Concerns(fl) {
					t.Fatalf("%+v does not wake %s", e, fl.Name)
				}
			}
		}
	})
}
