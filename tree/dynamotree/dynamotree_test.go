package dynamotree_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/dynamotree"
)

func TestTheTableIsAStoreOfTrees(t *testing.T) {
	mustertest.TreeStoreConformance(t, func(t *testing.T) tree.Store { return dynamotree.New(newFakeTable(), "trees") })
}

// TestARealTableIsAStoreOfTrees asks whatever speaks DynamoDB's protocol at MUSTER_DYNAMODB, in a table that it makes.
// It takes minutes; -rapid.checks=15 makes it shorter.
func TestARealTableIsAStoreOfTrees(t *testing.T) {
	endpoint := os.Getenv("MUSTER_DYNAMODB")
	if endpoint == "" {
		t.Skip("MUSTER_DYNAMODB names no endpoint, such as http://127.0.0.1:8000 of DynamoDB Local")
	}
	client := dynamodb.New(dynamodb.Options{
		HTTPClient: &inTurn{},
		Region:     "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local",
			"local", ""),
	})
	table := "trees-" + time.Now().UTC().Format("150405.000000")
	for range 2 { // the second time it is there
		if err := dynamotree.Create(t.Context(), client, table); err != nil {
			t.Fatal(err)
		}
	}
	mustertest.TreeStoreConformance(t, func(t *testing.T) tree.Store { return dynamotree.New(client, table) })
}

// inTurn makes one request at a time. Stand-ins for DynamoDB do not keep requests apart that come together; the steps
// of several workers still run into each other, request by request.
type inTurn struct{ mu sync.Mutex }

func (c *inTurn) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// planted returns a table with a tree of one node, which is being worked on.
func planted(t *testing.T) (*fakeTable, *dynamotree.Store, tree.Root, tree.ID) {
	t.Helper()
	f := newFakeTable()
	store := dynamotree.New(f, "trees")
	spec := tree.Spec{ID: "t", Queue: "q", Node: tree.Child{Key: "0"}}
	root := do(t, store, tree.SubmitWant(spec),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Submit(v, spec, noon) }).Root
	id := tree.NodeID("t", tree.ID{}, "0", false)
	do(t, store, tree.BeginWant("t", id),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Begin(v, noon) })
	return f, store, root, id
}

func do(t *testing.T, s *dynamotree.Store, want tree.Want,
	step func(tree.View) (tree.Change, tree.Outcome, error)) (o tree.Outcome) {
	t.Helper()
	if err := s.Step(t.Context(), want, func(v tree.View) (c tree.Change, err error) {
		c, o, err = step(v)
		return c, err
	}); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTheLargestStepFitsIntoATransaction(t *testing.T) {
	f, store, root, id := planted(t)
	var sent []tree.ID
	for b := range 3 {
		r := tree.Registration{Root: root, Parent: id, Sent: sent}
		for i := range store.Batch() {
			r.Children = append(r.Children, tree.Child{Key: fmt.Sprint(b, i)})
		}
		o := do(t, store, r.Want(), func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, r) })
		sent = nil
		for _, n := range o.Send {
			sent = append(sent, n.ID)
		}
	}
	do(t, store, tree.SettleWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Finish(v, tree.Result{Sent: sent, At: noon})
	})
	if f.largest < 2*store.Batch() {
		t.Errorf("the largest transaction has %d elements: the test proves nothing", f.largest)
	}
	nodes, err := store.Nodes(t.Context(), "t", tree.Filter{States: []tree.State{tree.Sent}, Limit: 100})
	if err != nil || len(nodes) != 100 {
		t.Errorf("%d nodes were taken down as sent, %v; want 100 of the 135 in one list", len(nodes), err)
	}
}

// TestAViewOfTwoInstantsIsNotBelieved lets another worker end the tree between the read of the root and that of the
// node: the settled node without its pending completion would lose the announcement.
func TestAViewOfTwoInstantsIsNotBelieved(t *testing.T) {
	f, _, _, id := planted(t)
	between := &between{fakeTable: f}
	store := dynamotree.New(between, "trees")
	between.then = func() {
		do(t, dynamotree.New(f, "trees"), tree.SettleWant("t", id),
			func(v tree.View) (tree.Change, tree.Outcome, error) {
				return tree.Finish(v, tree.Result{At: noon})
			})
	}
	seen := 0
	o := do(t, store, tree.BeginWant("t", id), func(v tree.View) (tree.Change, tree.Outcome, error) {
		seen++
		return tree.Owed(v)
	})
	if seen < 2 || len(o.Announce) != 1 {
		t.Errorf("after %d views the completion to announce is %v", seen, o.Announce)
	}
}

// between runs something once, after the first read.
type between struct {
	*fakeTable
	then func()
}

func (b *between) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out, err := b.fakeTable.BatchGetItem(ctx, in, o...)
	if then := b.then; then != nil {
		b.then = nil
		then()
	}
	return out, err
}

// broken fails every call.
type broken struct {
	dynamotree.API
	err error
}

func (b broken) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput,
	...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return nil, b.err
}

func TestFailuresSayWhatToDo(t *testing.T) {
	nothing := func(tree.View) (tree.Change, error) { return tree.Change{}, nil }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no table":      {&types.ResourceNotFoundException{Message: aws.String("x")}, "muster tree submit makes it"},
		"anything else": {errors.New("no network"), "no network"},
	} {
		err := dynamotree.New(broken{err: c.err}, "trees").Step(t.Context(), tree.Want{Root: "t"}, nothing)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "trees") ||
			!errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
