package runner_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster/tree/runner"
)

// batches serves SendMessageBatch and keeps the bodies of each call. A body "refused" is refused.
func batches(t *testing.T) (*runner.SQSSender, *[][]string) {
	var calls [][]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Entries []struct{ Id, MessageBody string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		type failed struct {
			Id, Code, Message string
			SenderFault       bool
		}
		out := struct {
			Successful []map[string]string
			Failed     []failed
		}{}
		var bodies []string
		for _, e := range in.Entries {
			bodies = append(bodies, e.MessageBody)
			if e.MessageBody == "refused" {
				out.Failed = append(out.Failed, failed{e.Id, "Busy", "come again", false})
				continue
			}
			out.Successful = append(out.Successful, map[string]string{"Id": e.Id, "MessageId": e.Id})
		}
		calls = append(calls, bodies)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(server.Close)
	clients := 0
	sender := &runner.SQSSender{Client: func(context.Context, string) (*sqs.Client, error) {
		if clients++; clients > 1 {
			t.Error("a second client was made for the same queue")
		}
		return sqs.New(sqs.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(server.URL), DisableMessageChecksumValidation: true,
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		}), nil
	}}
	return sender, &calls
}

func TestMessagesAreSentInBatchesOfTenAndOfBoundedSize(t *testing.T) {
	sender, calls := batches(t)
	large := strings.Repeat("x", 100<<10)
	bodies := slices.Repeat([]string{"s"}, 23)
	bodies = append(bodies, large, large, large, strings.Repeat("y", 400<<10), "end")
	if err := sender.Send(t.Context(), "q", bodies); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, c := range *calls {
		sizes = append(sizes, len(c))
	}
	if want := []int{10, 10, 5, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("the calls send %v messages, want %v", sizes, want)
	}
	if got := slices.Concat(*calls...); !slices.Equal(got, bodies) {
		t.Error("what was sent is not what was given, in order")
	}
}

func TestAMessageThatIsRefusedIsAnError(t *testing.T) {
	sender, _ := batches(t)
	err := sender.Send(t.Context(), "q", []string{"a", "refused"})
	if err == nil || !strings.Contains(err.Error(), "come again") {
		t.Errorf("the error is %v", err)
	}
}
