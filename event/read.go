package event

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The bounds of what [Read] takes in.
const (
	// MaxBytes is the largest body. Lambda brings up to 6 MB, SQS up to 1 MiB. A larger body is one event of the kind
	// [Unknown].
	MaxBytes = 8 << 20
	// MaxEvents bounds the events of one body. The rest counts as one event of the kind [Unknown].
	MaxEvents = 1000
	// maxDepth bounds formats inside each other. The deepest real one is an event in a message of SNS in a message of
	// SQS in the payload of a Lambda function.
	maxDepth = 6
)

// Read returns the events in a body. It never fails: a body that cannot be read is one event of the kind [Unknown],
// whose subject is empty. The result has at least one event, except for an empty list.
func Read(body []byte) []Event {
	r := reader{}
	if len(body) > MaxBytes {
		r.add(Event{Kind: Unknown})
	} else {
		r.read(body, "", 0)
	}
	return r.events
}

// reader gathers the events of one body.
type reader struct{ events []Event }

// add adds an event, within the bounds.
func (r *reader) add(e Event) {
	if n := len(r.events); n == MaxEvents {
		r.events[n-1] = Event{Kind: Unknown}
		return
	}
	r.events = append(r.events, e.bounded())
}

// fields are the members of a JSON object. Names are compared exactly: EventBridge has "source", CloudTrail "Source".
type fields map[string]json.RawMessage

// text returns a member that is a text; empty if there is none.
func (f fields) text(name string) (text string) {
	if json.Unmarshal(f[name], &text) != nil {
		return ""
	}
	return text
}

// object returns a member that is an object; nil if there is none.
func (f fields) object(name string) (o fields) {
	if json.Unmarshal(f[name], &o) != nil {
		return nil
	}
	return o
}

// list returns the elements of a member that is a list.
func (f fields) list(name string) (all []json.RawMessage) {
	if json.Unmarshal(f[name], &all) != nil {
		return nil
	}
	return all
}

// read reads one body. id is that of the message around it, for an event without one of its own.
func (r *reader) read(body []byte, id string, depth int) {
	body = bytes.TrimSpace(body)
	var f fields
	switch {
	case depth < maxDepth && bytes.HasPrefix(body, []byte("[")):
		var all []json.RawMessage
		if json.Unmarshal(body, &all) != nil {
			break
		}
		for _, one := range all {
			r.read(one, "", depth+1)
		}
		return
	case depth < maxDepth && json.Unmarshal(body, &f) == nil && f != nil:
		r.object(f, id, depth)
		return
	}
	r.add(Event{Kind: Unknown, ID: id})
}

// object reads one JSON object by the member that only its format has.
func (r *reader) object(f fields, id string, depth int) {
	has := func(name string) bool { return f[name] != nil }
	switch {
	case has("detail-type"):
		r.add(envelope(f))
	case has("Records"):
		for _, raw := range f.list("Records") {
			r.record(raw, depth)
		}
	case has("TopicArn") && has("Message"):
		if f.text("Type") != "Notification" { // the confirmation of a subscription
			r.add(Event{Kind: Test})
			return
		}
		r.read([]byte(f.text("Message")), f.text("MessageId"), depth+1)
	case strings.HasSuffix(f.text("Event"), ":TestEvent"), strings.HasSuffix(f.text("Event"), ":TEST_NOTIFICATION"):
		r.add(Event{Kind: Test})
	case has("AutoScalingGroupName"):
		r.add(notification(f, id))
	case has("AlarmName"):
		r.add(alarm(f, id))
	default:
		r.add(own(f, id))
	}
}

// record reads one record of a batch: of S3, or of SQS or SNS around another format.
func (r *reader) record(raw json.RawMessage, depth int) {
	var f fields
	if json.Unmarshal(raw, &f) != nil {
		r.add(Event{Kind: Unknown})
		return
	}
	switch {
	case f.text("eventSource") == "aws:s3":
		r.add(object(f))
	case f.text("eventSource") == "aws:sqs":
		r.read([]byte(f.text("body")), f.text("messageId"), depth+1)
	case f.text("EventSource") == "aws:sns":
		message := f.object("Sns")
		r.read([]byte(message.text("Message")), message.text("MessageId"), depth+1)
	default:
		r.add(Event{Kind: Unknown})
	}
}

// object returns the event of a record of S3. The sequencer grows with every change of an object, so the id differs
// when a file is uploaded again. A bucket belongs to no fleet: the event wakes all, unless a rule of EventBridge names
// one.
func object(f fields) Event {
	e := Event{Kind: ObjectCreated}
	if !strings.Contains(f.text("eventName"), "ObjectCreated") {
		e.Kind = Custom // the bucket's owner chose which changes are told
	}
	s3 := f.object("s3")
	file := s3.object("object")
	if sequencer := file.text("sequencer"); sequencer != "" {
		e.ID = strings.Join([]string{s3.object("bucket").text("name"), file.text("key"), sequencer}, " ")
	}
	return e
}

// notification returns the event of a message that an Auto Scaling group sends to a queue or topic without EventBridge.
func notification(f fields, id string) Event {
	e := Event{Kind: InstanceLifecycle, ID: f.text("LifecycleActionToken"),
		Subject: Subject{Group: f.text("AutoScalingGroupName"), Member: f.text("EC2InstanceId")}}
	switch name := f.text("Event"); {
	case strings.Contains(name, "EC2_INSTANCE_LAUNCH"):
		e.Kind = InstanceLaunch
	case strings.Contains(name, "EC2_INSTANCE_TERMINATE"):
		e.Kind = InstanceTerminate
	}
	if e.ID == "" {
		e.ID = id
	}
	return e
}

// alarm returns the event of an alarm's message. It concerns the queue, group or service in the dimensions of the
// metric.
func alarm(f fields, id string) Event {
	e := Event{Kind: Alarm, ID: id}
	for _, raw := range f.object("Trigger").list("Dimensions") {
		var d fields
		if json.Unmarshal(raw, &d) == nil {
			e.dimension(d.text("name"), d.text("value"))
		}
	}
	return e
}

// dimension sets the part of the subject that a dimension of a metric names.
func (s *Subject) dimension(name, value string) {
	switch name {
	case "QueueName":
		s.Queue = value
	case "AutoScalingGroupName":
		s.Group = value
	case "ClusterName":
		s.Cluster = value
	case "ServiceName":
		s.Service = value
	}
}

// own returns the event of Muster's own form. An object that has none of its members is unknown: it wakes all fleets,
// and so does a message that is no JSON.
func own(f fields, id string) Event {
	e := Event{Kind: Unknown, ID: f.text("id"), Subject: stated(f)}
	if kind := f.text("kind"); kind != "" {
		e.Kind = KindOf(kind)
	} else if e.ID != "" || e.Subject != (Subject{}) {
		e.Kind = Custom
	}
	if e.ID == "" {
		e.ID = id
	}
	return e
}

// stated returns the subject that members of an object name, as a program of one's own writes them.
func stated(f fields) Subject {
	return Subject{Fleet: f.text("fleet"), Queue: f.text("queue"), Group: f.text("group"), Cluster: f.text("cluster"),
		Service: f.text("service"), Member: f.text("member")}
}
