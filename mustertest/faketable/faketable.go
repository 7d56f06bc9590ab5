// Package faketable is a table of Amazon DynamoDB in memory, for tests of what keeps its state in one.
//
//	table := faketable.New("stream", "element")
//	store, err := dynamohistory.New(table, "history")
//
// [Table] keeps to the parts of DynamoDB's contract that Muster builds on: conditional writes, transactions that happen
// whole or not at all, pages of a query, elements of at most 400 KB. It reads the small part of the expression language
// that Muster uses, and refuses everything else, so that a test cannot pass by an expression that was not evaluated.
//
// It is no model of DynamoDB: no capacity, no indexes, no read that lags behind. Package interop runs the same stores
// against a stand-in of other people.
package faketable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxElement is DynamoDB's bound of an element, in bytes.
const MaxElement = 400 << 10

// Element is a DynamoDB item.
type Element = map[string]types.AttributeValue

// Table is a table with two text keys. Several goroutines may use it.
type Table struct {
	partition, sort string
	// Page is how many elements a page of a query has, at most.
	Page int
	// Before runs before each call, with the name of the action, and outside of the lock. Its error is the answer of
	// the call, which then does nothing. It may be nil.
	Before func(action string) error
	// After runs after each successful call; its error is the answer of a call that did happen. It may be nil.
	After func(action string) error

	mu       sync.Mutex
	elements map[string]Element
	calls    map[string]int
}

// New returns an empty table with the given keys; sort may be empty.
func New(partition, sort string) *Table {
	return &Table{partition: partition, sort: sort, Page: 7, elements: map[string]Element{}, calls: map[string]int{}}
}

// Calls returns how often each action was called.
func (t *Table) Calls() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.calls)
}

// Elements returns copies of all elements, sorted by their keys.
func (t *Table) Elements() []Element {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Element
	for _, k := range slices.Sorted(maps.Keys(t.elements)) {
		all = append(all, maps.Clone(t.elements[k]))
	}
	return all
}

// call runs do under the lock, with the hooks around it.
func (t *Table) call(ctx context.Context, action string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.Before != nil {
		if err := t.Before(action); err != nil {
			return err
		}
	}
	err := func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.calls[action]++
		return do()
	}()
	if err == nil && t.After != nil {
		err = t.After(action)
	}
	return err
}

// key returns the place of an element.
func (t *Table) key(e Element) string { return textOf(e[t.partition]) + "\x00" + textOf(e[t.sort]) }

// textOf returns the value of a text attribute, "" for anything else.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// size is about what DynamoDB counts.
func size(e Element) (n int) {
	for name, v := range e {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += len(v.Value)/2 + 2
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		}
	}
	return n
}

// GetItem reads one element. Only consistent reads are allowed.
func (t *Table) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out := &dynamodb.GetItemOutput{}
	return out, t.call(ctx, "GetItem", func() error {
		if !aws.ToBool(in.ConsistentRead) {
			return errors.New("a read that is not consistent")
		}
		out.Item = maps.Clone(t.elements[t.key(in.Key)])
		return nil
	})
}

// PutItem writes a whole element.
func (t *Table) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, t.call(ctx, "PutItem", func() error {
		return t.put(in.Item, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	})
}

// put writes an element under its condition, and holds it to DynamoDB's bound.
func (t *Table) put(e Element, condition *string, names map[string]string, values Element) error {
	if err := t.check(t.key(e), condition, names, values); err != nil {
		return err
	}
	if size(e) > MaxElement {
		return fmt.Errorf("ValidationException: item size has exceeded the maximum: %d bytes", size(e))
	}
	t.elements[t.key(e)] = maps.Clone(e)
	return nil
}

// DeleteItem removes an element.
func (t *Table) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, t.call(ctx, "DeleteItem", func() error {
		err := t.check(t.key(in.Key), in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		if err == nil {
			delete(t.elements, t.key(in.Key))
		}
		return err
	})
}

// UpdateItem changes attributes of an element and returns all of them, if asked to.
func (t *Table) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out := &dynamodb.UpdateItemOutput{}
	return out, t.call(ctx, "UpdateItem", func() error {
		k := t.key(in.Key)
		err := t.check(k, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		if err != nil {
			return err
		}
		e := maps.Clone(t.elements[k])
		if e == nil {
			e = maps.Clone(in.Key)
		}
		if err := change(e, aws.ToString(in.UpdateExpression), in.ExpressionAttributeNames,
			in.ExpressionAttributeValues); err != nil {
			return err
		}
		if size(e) > MaxElement {
			return fmt.Errorf("ValidationException: item size has exceeded the maximum: %d bytes", size(e))
		}
		t.elements[k] = e
		if in.ReturnValues == types.ReturnValueAllNew {
			out.Attributes = maps.Clone(e)
		}
		return nil
	})
}

// TransactWriteItems makes puts and deletions, all or none.
func (t *Table) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, t.call(ctx, "TransactWriteItems", func() error {
		if len(in.TransactItems) > 100 {
			return fmt.Errorf("ValidationException: a transaction of %d elements", len(in.TransactItems))
		}
		// A refused transaction puts this copy back.
		before, seen, bytes := maps.Clone(t.elements), map[string]bool{}, 0
		for _, one := range in.TransactItems {
			var err error
			var k string
			switch {
			case one.Put != nil:
				k, bytes = t.key(one.Put.Item), bytes+size(one.Put.Item)
				err = t.put(one.Put.Item, one.Put.ConditionExpression, one.Put.ExpressionAttributeNames,
					one.Put.ExpressionAttributeValues)
			case one.Delete != nil:
				k = t.key(one.Delete.Key)
				err = t.check(k, one.Delete.ConditionExpression, one.Delete.ExpressionAttributeNames,
					one.Delete.ExpressionAttributeValues)
				delete(t.elements, k)
			default:
				err = errors.New("only Put and Delete are known")
			}
			if seen[k] || bytes > 4<<20 {
				err = fmt.Errorf("ValidationException: %d bytes, or the element %q twice", bytes, k)
			}
			if seen[k] = true; err != nil {
				t.elements = before
				return &types.TransactionCanceledException{Message: aws.String(err.Error()),
					CancellationReasons: []types.CancellationReason{{Code: aws.String("ConditionalCheckFailed")}}}
			}
		}
		return nil
	})
}

// Query reads a page of the elements of a partition.
func (t *Table) Query(ctx context.Context, in *dynamodb.QueryInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	return out, t.call(ctx, "Query", func() error {
		if !aws.ToBool(in.ConsistentRead) {
			return errors.New("a read that is not consistent")
		}
		var found []Element
		for _, k := range slices.Sorted(maps.Keys(t.elements)) {
			ok, err := holds(t.elements[k], aws.ToString(in.KeyConditionExpression), in.ExpressionAttributeNames,
				in.ExpressionAttributeValues)
			if err != nil {
				return err
			}
			if ok {
				found = append(found, t.elements[k])
			}
		}
		if in.ScanIndexForward != nil && !*in.ScanIndexForward {
			slices.Reverse(found)
		}
		if start := in.ExclusiveStartKey; start != nil {
			// The element itself may be gone by now.
			found = slices.DeleteFunc(found, func(e Element) bool {
				c := strings.Compare(t.key(e), t.key(start))
				return c == 0 || (c < 0) == (in.ScanIndexForward == nil || *in.ScanIndexForward)
			})
		}
		// A limit counts elements before the filter, as in DynamoDB: a page may come back empty.
		n := min(len(found), t.Page)
		if in.Limit != nil {
			n = min(n, int(*in.Limit))
		}
		if n < len(found) {
			out.LastEvaluatedKey = Element{t.partition: found[n-1][t.partition], t.sort: found[n-1][t.sort]}
		}
		for _, e := range found[:n] {
			ok, err := holds(e, aws.ToString(in.FilterExpression), in.ExpressionAttributeNames,
				in.ExpressionAttributeValues)
			if err != nil {
				return err
			}
			if ok {
				out.Items = append(out.Items, maps.Clone(e))
			}
		}
		return nil
	})
}

// check returns the error of a condition that the element at k does not meet.
func (t *Table) check(k string, condition *string, names map[string]string, values Element) error {
	ok, err := holds(t.elements[k], aws.ToString(condition), names, values)
	if err == nil && !ok {
		err = &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
	}
	return err
}

// number returns the value of a number attribute.
func number(v types.AttributeValue) (int64, bool) {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		i, err := strconv.ParseInt(n.Value, 10, 64)
		return i, err == nil
	}
	return 0, false
}
