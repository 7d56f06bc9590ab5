package dynamotree_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// fakeTable keeps to the parts of DynamoDB's contract that the store builds on: transactions of at most 100 elements,
// each once, all or none; reads of at most 100 keys, of which some are left over; pages. Some transactions meet another
// one.
type fakeTable struct {
	mu       sync.Mutex
	elements map[string]map[string]types.AttributeValue
	random   *rand.Rand
	page     int // elements in one page
	largest  int // the largest transaction
	// meet runs before each transaction, without the lock.
	meet func()
}

func newFakeTable() *fakeTable {
	return &fakeTable{elements: map[string]map[string]types.AttributeValue{}, random: rand.New(rand.NewPCG(1, 1)),
		page: 7}
}

func s(v types.AttributeValue) string {
	if t, ok := v.(*types.AttributeValueMemberS); ok {
		return t.Value
	}
	return ""
}

func key(e map[string]types.AttributeValue) string { return s(e["tree"]) + "\x00" + s(e["element"]) }

func (f *fakeTable) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for table, ask := range in.RequestItems {
		if len(ask.Keys) > 100 || !aws.ToBool(ask.ConsistentRead) {
			return nil, fmt.Errorf("%d keys, consistent: %v", len(ask.Keys), ask.ConsistentRead)
		}
		n := len(ask.Keys)
		if n > 3 && f.random.IntN(4) == 0 {
			n = 1 + f.random.IntN(n)
			left := ask
			left.Keys = ask.Keys[n:]
			if len(left.Keys) > 0 {
				out.UnprocessedKeys = map[string]types.KeysAndAttributes{table: left}
			}
		}
		for _, k := range ask.Keys[:n] {
			if e, ok := f.elements[key(k)]; ok {
				out.Responses[table] = append(out.Responses[table], e)
			}
		}
	}
	return out, nil
}

func (f *fakeTable) Query(_ context.Context, in *dynamodb.QueryInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !aws.ToBool(in.ConsistentRead) {
		return nil, errors.New("a read that is not consistent")
	}
	sortName, value := "element", func(name string) string { return s(in.ExpressionAttributeValues[name]) }
	if in.IndexName != nil {
		sortName = "todo"
	}
	var is func(string) bool
	switch expression := aws.ToString(in.KeyConditionExpression); expression {
	case "#p = :p":
		is = func(string) bool { return true }
	case "#p = :p AND begins_with(#t, :t)":
		is = func(v string) bool { return strings.HasPrefix(v, value(":t")) }
	case "#p = :p AND #s BETWEEN :after AND :last":
		is = func(v string) bool { return v >= value(":after") && v <= value(":last") }
	default:
		return nil, fmt.Errorf("unknown condition %q", expression)
	}
	var found []map[string]types.AttributeValue
	for _, e := range f.elements {
		if _, indexed := e[sortName]; indexed && s(e["tree"]) == value(":p") && is(s(e[sortName])) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b map[string]types.AttributeValue) int {
		return strings.Compare(s(a[sortName]),
			s(b[sortName]))
	})
	if start := in.ExclusiveStartKey; start != nil {
		at := slices.IndexFunc(found, func(e map[string]types.AttributeValue) bool { return key(e) == key(start) })
		found = found[at+1:]
	}
	out := &dynamodb.QueryOutput{}
	n := min(len(found), f.page)
	if in.Limit != nil {
		n = min(n, int(*in.Limit))
	}
	if n < len(found) {
		out.LastEvaluatedKey = found[n-1]
	}
	for _, e := range found[:n] {
		if in.FilterExpression == nil || strings.Contains(states(in), "|"+s(e["state"])+"|") {
			out.Items = append(out.Items, e)
		}
	}
	return out, nil
}

// states returns the values of a filter on states.
func states(in *dynamodb.QueryInput) string {
	list := "|"
	for name, v := range in.ExpressionAttributeValues {
		if strings.HasPrefix(name, ":s") {
			list += s(v) + "|"
		}
	}
	return list
}

func (f *fakeTable) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if f.meet != nil {
		f.meet()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.largest = max(f.largest, len(in.TransactItems))
	if len(in.TransactItems) > 100 {
		return nil, fmt.Errorf("a transaction of %d elements", len(in.TransactItems))
	}
	seen := map[string]bool{}
	refused := &types.TransactionCanceledException{}
	cancelled := false
	for _, t := range in.TransactItems {
		if t.Delete != nil {
			refused.CancellationReasons = append(refused.CancellationReasons, types.CancellationReason{})
			continue
		}
		k := key(t.Put.Item)
		if seen[k] {
			return nil, fmt.Errorf("an element twice in a transaction: %q", k)
		}
		seen[k] = true
		reason := "None"
		switch before := f.elements[k]["version"]; aws.ToString(t.Put.ConditionExpression) {
		case "":
		case "attribute_not_exists(#v)":
			if before != nil {
				reason = "ConditionalCheckFailed"
			}
		case "#v = :v":
			want := t.Put.ExpressionAttributeValues[":v"].(*types.AttributeValueMemberN).Value
			if n, ok := before.(*types.AttributeValueMemberN); !ok || n.Value != want {
				reason = "ConditionalCheckFailed"
			} else if f.random.IntN(10) == 0 {
				reason = "TransactionConflict"
			}
		default:
			return nil, fmt.Errorf("unknown condition %q", *t.Put.ConditionExpression)
		}
		cancelled = cancelled || reason != "None"
		refused.CancellationReasons = append(refused.CancellationReasons, types.CancellationReason{Code: &reason})
	}
	if cancelled {
		return nil, refused
	}
	for _, t := range in.TransactItems {
		if t.Delete != nil {
			delete(f.elements, key(t.Delete.Key))
			continue
		}
		f.elements[key(t.Put.Item)] = t.Put.Item
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}
