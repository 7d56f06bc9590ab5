//go:build interop

package amazon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/function"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/dynamotree"
)

// race is a history in which both callers have begun before either of them appends.
type race struct {
	muster.History
	begun *sync.WaitGroup
}

// Begin implements [muster.History].
func (h race) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	at, err := h.History.Begin(ctx, fleet)
	h.begun.Done()
	h.begun.Wait()
	return at, err
}

func TestAFunctionSizesAGroupWithItsHistoryInATable(t *testing.T) {
	d := open(t)
	groups := d.group("stepped")
	made, err := awssqs.NewFromConfig(d.config).CreateQueue(d.Context(),
		&awssqs.CreateQueueInput{QueueName: aws.String("stepped")})
	d.must(err)
	d.must(dynamohistory.Create(d.Context(), dynamodb.NewFromConfig(d.config), "muster-history"))
	t.Setenv(function.VariableHistory, "dynamodb:muster-history")
	t.Setenv(function.VariableConfig, fmt.Sprintf("version: 1\naws: {region: us-east-1, queue_metrics: false}\n"+
		"fleets: [{name: stepped, queue: %q, objective: {latency: 300s}, max: 5, policy: {name: backlog-per-worker, "+
		"acceptable: 2}, asg: {group: stepped, region: us-east-1, reports: none, launch: size}}]", *made.QueueUrl))
	t.Setenv("AWS_REGION", "us-east-1")
	d.must(dynamotree.Create(d.Context(), dynamodb.NewFromConfig(d.config), "trees"))
	t.Setenv(function.VariableTrees, "dynamodb:trees")
	submitted := tree.Spec{ID: "t1", Queue: *made.QueueUrl, Node: tree.Child{Key: "root"}}
	d.must(dynamotree.New(dynamodb.NewFromConfig(d.config), "trees").Step(d.Context(), tree.SubmitWant(submitted),
		func(v tree.View) (tree.Change, error) {
			c, _, err := tree.Submit(v, submitted, time.Now().UTC())
			return c, err
		}))
	call := func(name, payload string, past muster.History) (answer function.Steps) {
		t.Helper()
		f, err := function.New(d.Context(), function.Options{History: past, Logger: slog.New(slog.DiscardHandler),
			Lookup: func(v string) (string, bool) {
				if v == function.VariableFunction {
					return name, true
				}
				return os.LookupEnv(v)
			}})
		if err != nil {
			t.Error(err)
			return answer
		}
		text, err := f.Invoke(d.Context(), []byte(payload))
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return answer
	}
	size := func() int {
		out, err := groups.DescribeAutoScalingGroups(d.Context(), &autoscaling.DescribeAutoScalingGroupsInput{
			AutoScalingGroupNames: []string{"stepped"}})
		d.must(err)
		return int(*out.AutoScalingGroups[0].DesiredCapacity)
	}
	call("send", fmt.Sprintf(`{"queue": %q, "count": 4}`, *made.QueueUrl), nil)
	if a := call("step", "{}", nil); len(a.Fleets) != 1 || a.Fleets[0].Desired != 2 || size() != 2 {
		t.Errorf("found %+v and the size %d, want 2 for 4 messages", a, size())
	}
	call("send", fmt.Sprintf(`{"queue": %q, "count": 4}`, *made.QueueUrl), nil)
	store, err := dynamohistory.New(dynamodb.NewFromConfig(d.config), "muster-history")
	d.must(err)
	seen := 0
	d.must(store.Read(d.Context(), "stepped", time.Time{}, func(r muster.Record) bool {
		var body controller.Decided
		if r.Kind == muster.Decided && json.Unmarshal(r.Body, &body) == nil && body.Observation.Expected != nil {
			seen = body.Observation.Expected.Trees
		}
		return true
	}))
	if seen != 1 {
		t.Errorf("the decision was made with %d trees, want the submitted one", seen)
	}
	var begun, ended sync.WaitGroup
	begun.Add(2)
	elsewhere := make(chan bool, 2)
	for range 2 {
		ended.Go(func() {
			a := call("step", "{}", race{store, &begun})
			elsewhere <- len(a.Fleets) == 1 && a.Fleets[0].Elsewhere
		})
	}
	ended.Wait()
	if a, b := <-elsewhere, <-elsewhere; a == b || size() != 4 {
		t.Errorf("of two steps at once, both answered elsewhere=%t, and the size is %d; want one, and 4", a, size())
	}
}
