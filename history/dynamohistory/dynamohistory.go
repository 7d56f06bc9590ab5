package dynamohistory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
	"github.com/muster-scale/muster/internal/attribute"
)

// Reads are the calls that read. [*dynamodb.Client] implements it.
type Reads interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Writes are the calls that write one element. [*dynamodb.Client] implements it.
type Writes interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput,
		...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput,
		...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// API is what a [Store] needs of the client. [*dynamodb.Client] implements it. TransactWriteItems serves only Prune.
type API interface {
	Reads
	Writes
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Store is a [muster.History] in one table, which [Create] makes. It is safe for use by several goroutines, processes
// and machines. A writer's role needs dynamodb:GetItem, Query, PutItem, UpdateItem and DeleteItem on the table.
type Store struct {
	api   API
	table string

	// heads remembers the heads that this process wrote, so that an append costs no read. A head that is no longer the
	// current one makes the conditional write fail, never an append succeed.
	mu    sync.Mutex
	heads map[string]head
}

// New returns the store in a table, whose name has 3 to 255 characters. It makes no call yet.
func New(api API, table string) (*Store, error) {
	if len(table) < 3 || len(table) > 255 {
		return nil, fmt.Errorf("keep the history in DynamoDB: found the table %.40q, allowed are names of 3 to 255 "+
			"characters", table)
	}
	return &Store{api: api, table: table, heads: map[string]head{}}, nil
}

// Close does nothing; it makes a Store interchangeable with the other histories.
func (s *Store) Close() error { return nil }

// Begin implements [muster.History].
func (s *Store) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	if err := rules.CheckFleet(fleet); err != nil {
		return muster.Position{}, err
	}
	what := fmt.Sprintf("begin the stream of fleet %q", fleet)
	// The list comes first: a stream that is not listed would never be pruned.
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table,
		Item: element{attrStream: attribute.Text(listOfFleets), attrElement: attribute.Text(fleet)}})
	if err != nil {
		return muster.Position{}, s.failed(what, err)
	}
	// Repeated after a lost answer, this raises the epoch twice, which costs nothing.
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: headOf(fleet), ReturnValues: types.ReturnValueAllNew,
		UpdateExpression:          aws.String("SET #q = if_not_exists(#q, :none) ADD #e :one"),
		ExpressionAttributeNames:  map[string]string{"#e": attrEpoch, "#q": attrSeq},
		ExpressionAttributeValues: element{":one": attribute.Number(1), ":none": attribute.Number(0)},
	})
	if err != nil {
		return muster.Position{}, s.failed(what, err)
	}
	h, err := readHead(out.Attributes)
	if err != nil {
		return muster.Position{}, s.failed(what, err)
	}
	s.remember(fleet, h)
	return h.at, nil
}

// Append implements [muster.History]. After an error other than [muster.ErrConflict] the append may have happened;
// Begin returns where the stream is.
func (s *Store) Append(ctx context.Context, fleet string, after muster.Position,
	records ...muster.Record) (muster.Position, error) {
	if err := rules.CheckAppend(fleet, records); err != nil {
		return muster.Position{}, err
	}
	what := fmt.Sprintf("append to fleet %q", fleet)
	h, err := s.head(ctx, fleet, after, len(records) == 0)
	if err != nil {
		return muster.Position{}, s.failed(what, err)
	}
	if h.at != after || after.Epoch == 0 {
		return muster.Position{}, rules.Conflict(fleet, after, h.at)
	}
	if len(records) == 0 {
		return after, nil
	}
	next := head{at: muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(len(records))},
		kinds: maps.Clone(h.kinds)}
	numbered := make([]muster.Record, len(records))
	for i, r := range records {
		r.Position = muster.Position{Epoch: after.Epoch, Seq: after.Seq + int64(i) + 1}
		numbered[i], next.kinds[r.Kind] = r, r.Position.Seq
	}
	next.last = pageOf(numbered, rand.Text())
	if next.last.body, err = encode(numbered); err == nil {
		err = s.stage(ctx, fleet, h.last, &next.last)
	}
	if err == nil {
		err = s.commit(ctx, fleet, after, next)
	}
	if err != nil {
		return muster.Position{}, s.failed(what, err)
	}
	s.remember(fleet, next)
	return next.at, nil
}

// head returns the head of a stream: the remembered one if it is at the position after, else, or if fresh is true, the
// one in the table.
func (s *Store) head(ctx context.Context, fleet string, after muster.Position, fresh bool) (head, error) {
	s.mu.Lock()
	h, known := s.heads[fleet]
	s.mu.Unlock()
	if known && !fresh && h.at == after {
		return h, nil
	}
	return s.fetchHead(ctx, fleet)
}

// fetchHead reads the head of a stream; the zero head is a missing one.
func (s *Store) fetchHead(ctx context.Context, fleet string) (head, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: headOf(fleet),
		ConsistentRead: aws.Bool(true)})
	if err != nil {
		return head{}, err
	}
	return readHead(out.Item)
}

func (s *Store) remember(fleet string, h head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads[fleet] = h
}

// stage writes what must be in the table before the head says so: the page of the append before, and the parts of a
// new page that is too large for the head.
func (s *Store) stage(ctx context.Context, fleet string, before page, next *page) error {
	if before.first > 0 {
		if err := s.movePage(ctx, fleet, before); err != nil {
			return err
		}
	}
	if len(next.body) <= maxElement {
		return nil
	}
	for rest := next.body; len(rest) > 0; next.parts++ {
		n := min(len(rest), maxElement)
		_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: element{
			attrStream: attribute.Text(fleetPrefix + fleet), attrElement: attribute.Text(partKey(next.nonce,
				next.parts)),
			attrBody: &types.AttributeValueMemberB{Value: rest[:n]}, attrExpires: expires(next.newest),
		}})
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// movePage makes an element of the page in a head. It keeps a page that is there, which Prune may have rewritten.
func (s *Store) movePage(ctx context.Context, fleet string, p page) error {
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: p.element(fleet),
		ConditionExpression:      aws.String("attribute_not_exists(#k)"),
		ExpressionAttributeNames: map[string]string{"#k": attrElement}})
	if refused(err) {
		return nil
	}
	return err
}

// commit writes the next head if the stream is still at the position after. It is the moment of the append.
func (s *Store) commit(ctx context.Context, fleet string, after muster.Position, next head) error {
	kinds, err := json.Marshal(next.kinds)
	if err != nil {
		return err
	}
	set := next.last.attributes()
	set[attrSeq], set[attrKinds] = attribute.Number(next.at.Seq), attribute.Text(string(kinds))
	in := &dynamodb.UpdateItemInput{TableName: &s.table, Key: headOf(fleet),
		ConditionExpression:      aws.String("#epoch = :ifEpoch AND #seq = :ifSeq"),
		ExpressionAttributeNames: map[string]string{"#epoch": attrEpoch},
		ExpressionAttributeValues: element{":ifEpoch": attribute.Number(after.Epoch),
			":ifSeq": attribute.Number(after.Seq)}}
	update(in, set)
	if set[attrBody] == nil {
		in.UpdateExpression = aws.String(*in.UpdateExpression + " REMOVE #" + attrBody)
		in.ExpressionAttributeNames["#"+attrBody] = attrBody
	}
	_, err = s.api.UpdateItem(ctx, in)
	if !refused(err) {
		return err
	}
	// The client repeats a write whose answer was lost: the refused one may be the second.
	found, err := s.fetchHead(ctx, fleet)
	if err != nil {
		return err
	}
	if found.at == next.at && found.last.nonce == next.last.nonce {
		return nil
	}
	return rules.Conflict(fleet, after, found.at)
}

// update adds an expression that sets attributes. The names of some are words of DynamoDB's language.
func update(in *dynamodb.UpdateItemInput, set element) {
	expression := ""
	for name, value := range set {
		if expression != "" {
			expression += ", "
		}
		expression += "#" + name + " = :" + name
		in.ExpressionAttributeNames["#"+name], in.ExpressionAttributeValues[":"+name] = name, value
	}
	in.UpdateExpression = aws.String("SET " + expression)
}

// refused tells whether the condition of a write was not met.
func refused(err error) bool {
	_, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	return ok
}

// failed adds to an error the operation, the table and, where it is known, what to do.
func (s *Store) failed(what string, err error) error {
	if err == nil || errors.Is(err, muster.ErrConflict) || errors.Is(err, rules.ErrNoRecord) {
		return err
	}
	return Explain(what, s.table, err)
}

// Explain returns an error of a call for a table with what the call was for, and how to make the table if it is
// missing.
func Explain(what, table string, err error) error {
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return fmt.Errorf("%s: there is no table %s in this region and account; make it: aws dynamodb create-table "+
			"--table-name %[2]s --billing-mode PAY_PER_REQUEST --attribute-definitions "+
			"AttributeName=stream,AttributeType=S AttributeName=element,AttributeType=S --key-schema "+
			"AttributeName=stream,KeyType=HASH AttributeName=element,KeyType=RANGE: %w", what, table, err)
	}
	return fmt.Errorf("%s in the table %s: %w", what, table, err)
}
