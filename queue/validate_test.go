package queue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMessagesAreCheckedBeforeTheyAreStored(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", map[string]string{"MaximumMessageSize": "2048"})
	ms := func(n time.Duration) *time.Duration { return &n }
	attribute := func(name, kind, value string) Outgoing {
		return Outgoing{Body: "x", Attributes: map[string]Attribute{name: {kind, []byte(value)}}}
	}
	eleven := Outgoing{Body: "x", Attributes: map[string]Attribute{}}
	for i := range 11 {
		eleven.Attributes[fmt.Sprint("a", i)] = Attribute{"String", []byte("v")}
	}
	for _, row := range []struct {
		name string
		m    Outgoing
		want error
	}{
		{"one character is enough", Outgoing{Body: "x"}, nil},
		{"all characters XML allows", Outgoing{Body: "\t\n\r é\ud7ff\ue000\ufffd\U00010000\U0010ffff"}, nil},
		{"the replacement character itself", Outgoing{Body: "\ufffd"}, nil},
		{"no body", Outgoing{}, ErrMissingParameter},
		{"a control character", Outgoing{Body: "a\x1f"}, ErrInvalidContents},
		{"a control character after a wide one", Outgoing{Body: "é\x00"}, ErrInvalidContents},
		{"bytes that are not UTF-8", Outgoing{Body: "a\xff"}, ErrInvalidContents},
		{"a character that is none", Outgoing{Body: "\uffff"}, ErrInvalidContents},
		{"as large as allowed", Outgoing{Body: strings.Repeat("x", 2048)}, nil},
		{"one byte too large", Outgoing{Body: strings.Repeat("x", 2049)}, ErrInvalidParameter},
		{"too large with its attributes",
			Outgoing{Body: strings.Repeat("x", 2040), Attributes: map[string]Attribute{"a": {"String", []byte("12")}}},
			ErrInvalidParameter},
		{"a delay of fifteen minutes", Outgoing{Body: "x", Delay: ms(MaxDelay)}, nil},
		{"a longer delay", Outgoing{Body: "x", Delay: ms(MaxDelay + 1)}, ErrInvalidParameter},
		{"a negative delay", Outgoing{Body: "x", Delay: ms(-1)}, ErrInvalidParameter},
		{"a deduplication id", Outgoing{Body: "x", DeduplicationID: "d"}, ErrInvalidParameter},
		{"a group id of punctuation", Outgoing{Body: "x", GroupID: "!~"}, nil},
		{"a group id with a space", Outgoing{Body: "x", GroupID: "a b"}, ErrInvalidParameter},
		{"a group id that is too long", Outgoing{Body: "x", GroupID: strings.Repeat("g", 129)}, ErrInvalidParameter},
		{"eleven attributes", eleven, ErrInvalidParameter},
		{"an attribute with a label", attribute("a.b-c_1", "Number.int", "-1.5e3"), nil},
		{"a number with 38 digits", attribute("a", "Number", strings.Repeat("9", 38)), nil},
		{"a number with 39 digits", attribute("a", "Number", strings.Repeat("9", 39)), ErrInvalidParameter},
		{"zero", attribute("a", "Number", "-0.00"), nil},
		{"the largest number", attribute("a", "Number", "1e126"), nil},
		{"a number that is too large", attribute("a", "Number", "1e127"), ErrInvalidParameter},
		{"the smallest number", attribute("a", "Number", "1e-128"), nil},
		{"a number that is too small", attribute("a", "Number", "0.1e-128"), ErrInvalidParameter},
		{"a number that is none", attribute("a", "Number", "1,5"), ErrInvalidParameter},
		{"an exponent without digits", attribute("a", "Number", "1e"), ErrInvalidParameter},
		{"an attribute without a name", attribute("", "String", "v"), ErrInvalidParameter},
		{"an attribute with two dots", attribute("a..b", "String", "v"), ErrInvalidParameter},
		{"an attribute ending in a dot", attribute("a.", "String", "v"), ErrInvalidParameter},
		{"an attribute named as AWS's own", attribute("aWs.x", "String", "v"), ErrInvalidParameter},
		{"an attribute without a type", attribute("a", "", "v"), ErrInvalidParameter},
		{"an attribute of an unknown type", attribute("a", "Stringy", "v"), ErrInvalidParameter},
		{"an empty attribute", attribute("a", "String", ""), ErrInvalidParameter},
		{"text in an attribute that is not UTF-8", attribute("a", "String", "\xff"), ErrInvalidParameter},
		{"any bytes in a binary attribute", attribute("a", "Binary", "\xff\x00"), nil},
		{"a trace that is too long", Outgoing{Body: "x", Trace: strings.Repeat("t", 1025)}, ErrInvalidParameter},
	} {
		t.Run(row.name, func(t *testing.T) {
			before, err := s.Counts("q")
			if err != nil {
				t.Fatal(err)
			}
			sent, err := s.Send(t.Context(), "q", []Outgoing{row.m})
			if err != nil {
				t.Fatal(err)
			}
			if !errors.Is(sent[0].Err, row.want) || (sent[0].Err == nil) != (row.want == nil) ||
				(sent[0].ID != "") != (row.want == nil) {
				t.Errorf("sent %+v, want error %v", sent[0], row.want)
			}
			after, err := s.Counts("q")
			if stored := after.Visible + after.Delayed - before.Visible - before.Delayed; err != nil ||
				(stored == 1) != (row.want == nil) {
				t.Errorf("stored %d, %v", stored, err)
			}
		})
	}
}

func TestQueuesAreCheckedBeforeTheyAreCreated(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "dead", nil)
	mustCreate(t, s, "closed", map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`})
	mustCreate(t, s, "picky",
		map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:r:0:friend"]}`})
	redrive := func(target, most string) map[string]string {
		return map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:r:0:` + target +
			`","maxReceiveCount":` + most + `}`}
	}
	for _, row := range []struct {
		name, queue string
		attributes  map[string]string
		want        error
	}{
		{"eighty characters", strings.Repeat("a", 78) + "-_", nil, nil},
		{"eighty-one characters", strings.Repeat("a", 81), nil, ErrInvalidParameter},
		{"no name", "", nil, ErrInvalidParameter},
		{"a name with a slash", "a/b", nil, ErrInvalidParameter},
		{"a FIFO queue", "ok.fifo", map[string]string{"FifoQueue": "true"}, nil},
		{"a FIFO queue with all there is", "all.fifo",
			map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true",
				"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}, nil},
		{"a FIFO name of eighty characters", strings.Repeat("a", 75) + ".fifo", map[string]string{"FifoQueue": "true"},
			nil},
		{"a FIFO name of eighty-one characters", strings.Repeat("a", 76) + ".fifo",
			map[string]string{"FifoQueue": "true"}, ErrInvalidParameter},
		{"a FIFO name that is all suffix", ".fifo", map[string]string{"FifoQueue": "true"}, ErrInvalidParameter},
		{"a FIFO name without the attribute", "a.fifo", nil, ErrInvalidParameter},
		{"the FIFO attribute without the name", "a", map[string]string{"FifoQueue": "true"}, ErrInvalidParameter},
		{"a limit per group without deduplication per group", "a.fifo",
			map[string]string{"FifoQueue": "true", "FifoThroughputLimit": "perMessageGroupId"},
			ErrInvalidAttributeValue},
		{"a scope nobody knows", "a.fifo", map[string]string{"FifoQueue": "true", "DeduplicationScope": "world"},
			ErrInvalidAttributeValue},
		{"deduplication by contents on a standard queue", "a", map[string]string{"ContentBasedDeduplication": "true"},
			ErrInvalidAttributeName},
		{"a standard dead-letter queue for a FIFO queue", "a.fifo",
			map[string]string{"FifoQueue": "true", "RedrivePolicy": redrive("dead", "5")["RedrivePolicy"]},
			ErrInvalidParameter},
		{"a FIFO dead-letter queue for a FIFO queue", "b.fifo",
			map[string]string{"FifoQueue": "true", "RedrivePolicy": redrive("ok.fifo", "5")["RedrivePolicy"]}, nil},
		{"a FIFO dead-letter queue for a standard queue", "a", redrive("ok.fifo", "5"), ErrInvalidParameter},
		{"a policy that is JSON", "policy", map[string]string{"Policy": `{"Version":"2012-10-17"}`}, nil},
		{"a policy that is not", "a", map[string]string{"Policy": "all"}, ErrInvalidAttributeValue},
		{"a policy that is too long", "a", map[string]string{"Policy": `{"a":"` + strings.Repeat("x", 8192) + `"}`},
			ErrInvalidAttributeValue},
		{"a key for encryption", "kms",
			map[string]string{"KmsMasterKeyId": "alias/aws/sqs", "KmsDataKeyReusePeriodSeconds": "60"}, nil},
		{"two kinds of encryption", "a",
			map[string]string{"KmsMasterKeyId": "alias/aws/sqs", "SqsManagedSseEnabled": "true"},
			ErrInvalidAttributeValue},
		{"explicitly not FIFO", "a", map[string]string{"FifoQueue": "false"}, ErrInvalidAttributeName},
		{"an attribute for FIFO queues", "a", map[string]string{"DeduplicationScope": "queue"},
			ErrInvalidAttributeName},
		{"a read-only attribute", "a", map[string]string{"QueueArn": "x"}, ErrInvalidAttributeName},
		{"a delay that is no number", "a", map[string]string{"DelaySeconds": "1.5"}, ErrInvalidAttributeValue},
		{"a retention under a minute", "a", map[string]string{"MessageRetentionPeriod": "59"},
			ErrInvalidAttributeValue},
		{"the bounds of retention", "bounds", map[string]string{"MessageRetentionPeriod": "1209600"}, nil},
		{"a size under 1 KiB", "a", map[string]string{"MaximumMessageSize": "1023"}, ErrInvalidAttributeValue},
		{"a wait over 20 s", "a", map[string]string{"ReceiveMessageWaitTimeSeconds": "21"}, ErrInvalidAttributeValue},
		{"a dead-letter queue", "r1", redrive("dead", "5"), nil},
		{"a receive count in quotes", "r2", redrive("dead", `"5"`), nil},
		{"a receive count of zero", "a", redrive("dead", "0"), ErrInvalidParameter},
		{"a dead-letter queue that is absent", "a", redrive("none", "5"), ErrInvalidParameter},
		{"itself as dead-letter queue, before it is there", "a", redrive("a", "5"), ErrInvalidParameter},
		{"a dead-letter queue that takes nobody", "a", redrive("closed", "5"), ErrInvalidParameter},
		{"a dead-letter queue that takes others", "a", redrive("picky", "5"), ErrInvalidParameter},
		{"a dead-letter queue that takes it", "friend", redrive("picky", "5"), nil},
		{"a redrive policy that is not JSON", "a", map[string]string{"RedrivePolicy": "x"}, ErrInvalidAttributeValue},
		{"an unknown redrive permission", "a", map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"some"}`},
			ErrInvalidAttributeValue},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := s.CreateQueue(t.Context(), row.queue, row.attributes, nil)
			if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Errorf("error %v, want %v", err, row.want)
			}
			if created := slices.Contains(s.Queues(), row.queue); created != (row.want == nil) {
				t.Errorf("created: %t", created)
			}
		})
	}
}

func TestCreatingAQueueAgainComparesWhatIsGiven(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", map[string]string{"DelaySeconds": "5"})
	for _, row := range []struct {
		name       string
		attributes map[string]string
		want       error
	}{
		{"nothing is given", nil, nil},
		{"the same value", map[string]string{"DelaySeconds": "5"}, nil},
		{"the same value written otherwise", map[string]string{"DelaySeconds": "05"}, nil},
		{"a default that was not given before", map[string]string{"VisibilityTimeout": "30"}, nil},
		{"another value", map[string]string{"DelaySeconds": "6"}, ErrQueueExists},
		{"another value than the default", map[string]string{"VisibilityTimeout": "31"}, ErrQueueExists},
	} {
		if err := s.CreateQueue(t.Context(), "q", row.attributes, nil); !errors.Is(err, row.want) ||
			(err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

func TestAttributesAndTagsSurviveAReopening(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreate(t, s, "dead", nil)
	if err := s.CreateQueue(t.Context(), "q", map[string]string{"DelaySeconds": "5"},
		map[string]string{"a": "1", "b": "2"}); err != nil {
		t.Fatal(err)
	}
	policy := `{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead","maxReceiveCount":3}`
	err := errors.Join(
		s.SetAttributes(t.Context(), "q", map[string]string{"VisibilityTimeout": "7", "RedrivePolicy": policy}),
		s.Tag(t.Context(), "q", map[string]string{"c": "3"}), s.Untag(t.Context(), "q", []string{"a"}))
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Attributes("q")
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir})
	after, err := s.Attributes("q")
	if err != nil || !maps.Equal(before, after) || after["VisibilityTimeout"] != "7" || after["DelaySeconds"] != "5" ||
		after["RedrivePolicy"] != policy {
		t.Errorf("attributes %v, %v; before %v", after, err, before)
	}
	if tags, err := s.Tags("q"); err != nil || !maps.Equal(tags, map[string]string{"b": "2", "c": "3"}) {
		t.Errorf("tags %v, %v", tags, err)
	}
	if err := s.SetAttributes(t.Context(), "q", map[string]string{"RedrivePolicy": ""}); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Attributes("q"); err != nil || after["RedrivePolicy"] != "" {
		t.Errorf("removed policy: %q, %v", after["RedrivePolicy"], err)
	}
}

func TestCallsOnAnAbsentQueueSaySo(t *testing.T) {
	s := ephemeral(t)
	ctx := t.Context()
	_, send := s.Send(ctx, "q", []Outgoing{{Body: "x"}})
	_, receive := s.Receive(ctx, "q", ReceiveOptions{})
	_, counts := s.Counts("q")
	_, attributes := s.Attributes("q")
	_, tags := s.Tags("q")
	_, sources := s.DeadLetterSources("q")
	for name, err := range map[string]error{
		"Send": send, "Receive": receive, "Counts": counts, "Attributes": attributes, "Tags": tags,
		"DeadLetterSources": sources,
		"SetAttributes":     s.SetAttributes(ctx, "q", map[string]string{"DelaySeconds": "1"}),
		"Tag":               s.Tag(ctx, "q", nil),
		"Untag":             s.Untag(ctx, "q", nil),
		"Purge":             s.Purge(ctx, "q"), "DeleteQueue": s.DeleteQueue(ctx, "q"),
		"Delete": s.Delete(ctx, "q", []string{"x"})[0], "ChangeVisibility": change(t, s, "q", "x", 0),
	} {
		if !errors.Is(err, ErrQueueNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
