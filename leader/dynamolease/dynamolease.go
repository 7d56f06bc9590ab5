// Package dynamolease keeps the sessions and claims of package leader in an Amazon DynamoDB table: the one of package
// history/dynamohistory, whose keys it uses.
//
//	s := dynamolease.New(client, "muster-history")
//	m := ... // package leader/term drives a leader.Machine with it
//
// A session is the element with its ID in the stream "sessions", a claim the element with the fleet's name in the
// stream "claims". Every write is conditional, and every read consistent. A refused write is followed by a read: the
// client repeats calls whose answers were lost, and the refused one may be the second.
//
// A controller makes two writes and four reads a second; docs/availability.md says what that costs.
package dynamolease

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/internal/attribute"
	"github.com/muster-scale/muster/leader"
)

// Reads are the calls that read. [*dynamodb.Client] implements it.
type Reads interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// API is what a [Store] needs of the client. [*dynamodb.Client] implements it.
type API interface {
	Reads
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput,
		...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// The attributes of the table.
const (
	attrStream  = "stream"
	attrElement = "element"
	attrName    = "name"
	attrBeat    = "beat"
	attrHolder  = "holder"
	attrFor     = "for"
	attrTerm    = "term"

	sessions = "sessions"
	claims   = "claims"
)

// Store is a [leader.Store] in a table. Several goroutines may use it.
type Store struct {
	api   API
	table string
}

// New returns the store in a table, which dynamohistory.Create makes. It makes no call yet.
func New(api API, table string) *Store { return &Store{api, table} }

var _ leader.Store = (*Store)(nil)

type element = attribute.Element

func key(stream, name string) element {
	return element{attrStream: attribute.Text(stream), attrElement: attribute.Text(name)}
}

func sessionOf(e element) (leader.Session, error) {
	n := attribute.NumbersOf(e)
	x := leader.Session{ID: attribute.TextOf(e[attrElement]), Name: attribute.TextOf(e[attrName]),
		Beat: n.Required(attrBeat)}
	if err := n.Err(); err != nil {
		return x, fmt.Errorf("read the session %.100q, which may be deleted: %w", x.ID, err)
	}
	return x, nil
}

func claimOf(e element) (leader.Claim, error) {
	n := attribute.NumbersOf(e)
	c := leader.Claim{Holder: attribute.TextOf(e[attrHolder]), Name: attribute.TextOf(e[attrName]),
		For: attribute.TextOf(e[attrFor]), Term: n.Required(attrTerm)}
	if err := n.Err(); err != nil {
		return c, fmt.Errorf("read the claim on fleet %.100q, which may be deleted: %w",
			attribute.TextOf(e[attrElement]), err)
	}
	return c, nil
}

// put writes an element if the attribute with the name has the value before, or if before is 0 and there is none.
func (s *Store) put(ctx context.Context, e element, name string, before int64) error {
	in := &dynamodb.PutItemInput{TableName: &s.table, Item: e,
		ConditionExpression:      aws.String("attribute_not_exists(#a)"),
		ExpressionAttributeNames: map[string]string{"#a": name}}
	if before != 0 {
		in.ConditionExpression = aws.String("#a = :a")
		in.ExpressionAttributeValues = element{":a": attribute.Number(before)}
	}
	_, err := s.api.PutItem(ctx, in)
	return err
}

// refused tells whether the condition of a write was not met.
func refused(err error) bool {
	_, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	return ok
}

// get reads an element.
func (s *Store) get(ctx context.Context, stream, name string) (element, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: key(stream, name),
		ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// found reads what is stored under a name; it is zero if nothing is.
func found[T any](ctx context.Context, s *Store, stream, name string, read func(element) (T, error)) (T, error) {
	e, err := s.get(ctx, stream, name)
	if err != nil || len(e) == 0 {
		var none T
		return none, err
	}
	return read(e)
}

// Beat implements [leader.Sessions].
func (s *Store) Beat(ctx context.Context, x leader.Session) error {
	e := key(sessions, x.ID)
	e[attrName], e[attrBeat] = attribute.Text(x.Name), attribute.Number(x.Beat)
	err := s.put(ctx, e, attrBeat, x.Beat-1)
	if refused(err) {
		var there leader.Session
		if there, err = found(ctx, s, sessions, x.ID, sessionOf); err == nil && there != x {
			return leader.ErrEvicted
		}
	}
	return s.failed("renew the session of this controller", err)
}

// Evict implements [leader.Sessions].
func (s *Store) Evict(ctx context.Context, x leader.Session) error {
	_, err := s.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.table, Key: key(sessions, x.ID),
		ConditionExpression: aws.String("#a = :a"), ExpressionAttributeNames: map[string]string{"#a": attrBeat},
		ExpressionAttributeValues: element{":a": attribute.Number(x.Beat)}})
	if refused(err) {
		return leader.ErrEvicted
	}
	return s.failed("evict the controller "+x.Name, err)
}

// Take implements [leader.Claims]. The term alone tells claims apart, because it grows with every change.
func (s *Store) Take(ctx context.Context, fleet string, was, to leader.Claim) error {
	e := key(claims, fleet)
	e[attrHolder], e[attrName], e[attrFor], e[attrTerm] = attribute.Text(to.Holder), attribute.Text(to.Name),
		attribute.Text(to.For), attribute.Number(to.Term)
	err := s.put(ctx, e, attrTerm, was.Term)
	if refused(err) {
		var there leader.Claim
		if there, err = found(ctx, s, claims, fleet, claimOf); err == nil && there != to {
			return leader.ErrTaken
		}
	}
	return s.failed("change the claim on fleet "+fleet, err)
}

// Read implements [leader.Claims].
func (s *Store) Read(ctx context.Context, withClaims bool) (b leader.Board, err error) {
	if withClaims {
		b.Claims = map[string]leader.Claim{}
		err = s.query(ctx, claims, func(e element) (err error) {
			b.Claims[attribute.TextOf(e[attrElement])], err = claimOf(e)
			return err
		})
	}
	if err == nil {
		err = s.query(ctx, sessions, func(e element) error {
			x, err := sessionOf(e)
			b.Sessions = append(b.Sessions, x)
			return err
		})
	}
	return b, s.failed("read the controllers", err)
}

// query calls yield with each element of a stream, by their keys, until it returns an error.
func (s *Store) query(ctx context.Context, stream string, yield func(element) error) error {
	in := &dynamodb.QueryInput{TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": attrStream},
		ExpressionAttributeValues: element{":s": attribute.Text(stream)}}
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, e := range out.Items {
			if err := yield(e); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// failed adds to an error of the client the operation, the table and, if that is missing, how to make it.
func (s *Store) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return dynamohistory.Explain(what, s.table, err)
}
