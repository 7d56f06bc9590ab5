package sqsapi_test

import (
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"pgregory.net/rapid"
)

// digest is the checksum of attributes as SQS's documentation describes it,
// written a second time: each part with its length in four bytes, in the order
// of the names; the kind of the value is one byte.
func digest(attributes map[string]types.MessageAttributeValue) string {
	if len(attributes) == 0 {
		return ""
	}
	sum := md5.New()
	part := func(b []byte) {
		n := len(b)
		sum.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		sum.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		part([]byte(name))
		part([]byte(*a.DataType))
		if strings.HasPrefix(*a.DataType, "Binary") {
			sum.Write([]byte{2})
			part(a.BinaryValue)
		} else {
			sum.Write([]byte{1})
			part([]byte(*a.StringValue))
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// legal are characters that a message may have; the rest of Unicode comes by chance.
var legal = []rune("\t\n\r aZ09<>&\"'\\/é世\u2028\ud7ff\ue000\ufffd\U00010000\U0010ffff")

func legalText(least, most int) *rapid.Generator[string] {
	r := rapid.OneOf(rapid.SampledFrom(legal), rapid.Rune().Filter(func(r rune) bool {
		return r >= ' ' && r != '\ufffe' && r != '\uffff'
	}))
	return rapid.StringOfN(r, least, most, -1)
}

func attribute(t *rapid.T) types.MessageAttributeValue {
	label := rapid.SampledFrom([]string{"", "", ".x", ".int", ".ünï"}).Draw(t, "label")
	switch rapid.SampledFrom([]string{"String", "Number", "Binary"}).Draw(t, "type") {
	case "Binary":
		return types.MessageAttributeValue{DataType: aws.String("Binary" + label),
			BinaryValue: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")}
	case "Number":
		return types.MessageAttributeValue{DataType: aws.String("Number" + label),
			StringValue: aws.String(fmt.Sprint(rapid.Int32().Draw(t, "number")))}
	}
	return types.MessageAttributeValue{DataType: aws.String("String" + label),
		StringValue: aws.String(legalText(1, 30).Draw(t, "text"))}
}

// TestChecksumsAreThoseThatClientsCompute sends random messages with the SDK,
// which verifies the checksum of the body itself, and computes those of the
// attributes once more, of all sent attributes and of the received ones.
func TestChecksumsAreThoseThatClientsCompute(t *testing.T) {
	e := serve(t, nil)
	c := e.client()
	q := create(t, c, "q", nil)
	name := rapid.StringMatching(`[A-Za-z0-9_-]{1,10}(\.[a-z0-9]{1,4})?`).Filter(func(s string) bool {
		l := strings.ToLower(s)
		return !strings.HasPrefix(l, "aws") && !strings.HasPrefix(l, "amazon")
	})
	rapid.Check(t, func(rt *rapid.T) {
		attributes := rapid.MapOfN(name, rapid.Custom(attribute), 0, 10).Draw(rt, "attributes")
		body := legalText(1, 60).Draw(rt, "body")
		in := &sqs.SendMessageInput{QueueUrl: q, MessageBody: &body, MessageAttributes: attributes}
		trace := rapid.Bool().Draw(rt, "with a trace")
		system := map[string]types.MessageAttributeValue{}
		if trace {
			text := "Root=1-5759e988-bd862e3fe1be46a994272793"
			in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &text},
			}
			system["AWSTraceHeader"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &text}
		}
		sent, err := c.SendMessage(t.Context(), in)
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := aws.ToString(sent.MD5OfMessageAttributes), digest(attributes); got != want {
			rt.Errorf("sent: MD5 of attributes %q, want %q", got, want)
		}
		if got, want := aws.ToString(sent.MD5OfMessageSystemAttributes), digest(system); got != want {
			rt.Errorf("sent: MD5 of system attributes %q, want %q", got, want)
		}
		var wanted []string
		selected := map[string]types.MessageAttributeValue{}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			if rapid.Bool().Draw(rt, "receive it") {
				wanted, selected[name] = append(wanted, name), attributes[name]
			}
		}
		got, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q, MessageAttributeNames: wanted})
		if err != nil || len(got.Messages) != 1 {
			rt.Fatalf("received %d messages, %v", len(got.Messages), err)
		}
		m := got.Messages[0]
		if *m.Body != body || len(m.MessageAttributes) != len(selected) {
			rt.Errorf("received %q with %d attributes, want %q with %d", *m.Body, len(m.MessageAttributes), body,
				len(selected))
		}
		if got, want := aws.ToString(m.MD5OfMessageAttributes), digest(selected); got != want ||
			digest(m.MessageAttributes) != want {
			rt.Errorf("received: MD5 of attributes %q, want %q", got, want)
		}
		if _, err := c.DeleteMessage(t.Context(),
			&sqs.DeleteMessageInput{QueueUrl: q, ReceiptHandle: m.ReceiptHandle}); err != nil {
			rt.Fatal(err)
		}
	})
}
