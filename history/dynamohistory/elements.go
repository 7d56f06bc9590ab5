package dynamohistory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
	"github.com/muster-scale/muster/internal/attribute"
)

// The attributes of the table. The stream of a fleet is "fleet#" and its name, so that no name meets listOfFleets.
const (
	attrStream  = "stream"
	attrElement = "element"

	attrEpoch   = "epoch"
	attrSeq     = "seq"
	attrKinds   = "kinds" // of a head: the newest sequence number of each kind, as JSON
	attrSwept   = "swept" // of a head: when Prune was last through with the stream, in nanoseconds
	attrCursor  = "cursor"
	attrFirst   = "first"
	attrEnd     = "end"
	attrOldest  = "oldest"
	attrNewest  = "newest"
	attrBody    = "body"
	attrParts   = "parts"
	attrNonce   = "nonce"
	attrVersion = "version"
	attrExpires = "expires"

	headKey      = "head"
	pagePrefix   = "page#"
	partPrefix   = "part#"
	fleetPrefix  = "fleet#"
	listOfFleets = "fleets"
)

// element is a DynamoDB item: the attributes under one key.
type element = attribute.Element

// page is the records of one append, as an element of its own or in the head.
type page struct {
	first, end     int64 // the sequence numbers of its first and last record when it was appended
	oldest, newest int64 // the range of its times, in nanoseconds
	body           []byte
	parts          int64  // how many parts hold the body; 0 if it is in body
	nonce          string // names the append, and the parts
	version        int64  // counts the rewrites by Prune
}

// pageOf returns the page of records, without a body.
func pageOf(records []muster.Record, nonce string) page {
	p := page{first: records[0].Position.Seq, end: records[len(records)-1].Position.Seq, nonce: nonce}
	p.oldest, p.newest = span(records)
	return p
}

// span returns the range of the times of records, in nanoseconds.
func span(records []muster.Record) (oldest, newest int64) {
	oldest, newest = records[0].At.UnixNano(), records[0].At.UnixNano()
	for _, r := range records {
		oldest, newest = min(oldest, r.At.UnixNano()), max(newest, r.At.UnixNano())
	}
	return oldest, newest
}

func pageKey(first int64) string { return fmt.Sprintf("%s%019d", pagePrefix, first) }

func partKey(nonce string, i int64) string { return fmt.Sprintf("%s%s#%04d", partPrefix, nonce, i) }

// attributes are those of a page wherever it is.
func (p page) attributes() element {
	e := element{attrFirst: attribute.Number(p.first), attrEnd: attribute.Number(p.end),
		attrOldest: attribute.Number(p.oldest),
		attrNewest: attribute.Number(p.newest), attrNonce: attribute.Text(p.nonce),
		attrParts: attribute.Number(p.parts)}
	if p.parts == 0 {
		e[attrBody] = &types.AttributeValueMemberB{Value: p.body}
	}
	return e
}

// element is p as an element of its own.
func (p page) element(fleet string) element {
	e := p.attributes()
	e[attrStream], e[attrElement] = attribute.Text(fleetPrefix+fleet), attribute.Text(pageKey(p.first))
	e[attrVersion], e[attrExpires] = attribute.Number(p.version), expires(p.newest)
	return e
}

// expires is the time from which on DynamoDB may remove an element, for what is as new as newest.
func expires(newest int64) types.AttributeValue {
	return attribute.Number(rules.Instant(newest).Add(rules.MaxKeep).Unix())
}

// readPage reads the page of an element, or of a head, which may have none.
func readPage(e element) (page, error) {
	n := attribute.NumbersOf(e)
	p := page{first: n.Optional(attrFirst), end: n.Optional(attrEnd), oldest: n.Optional(attrOldest),
		newest: n.Optional(attrNewest), body: attribute.BytesOf(e[attrBody]), parts: n.Optional(attrParts),
		nonce: attribute.TextOf(e[attrNonce]), version: n.Optional(attrVersion)}
	return p, damaged(e, n.Err())
}

// damaged adds to an error which element it is about.
func damaged(e element, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read the element %q of %q: %w", attribute.TextOf(e[attrElement]),
		attribute.TextOf(e[attrStream]), err)
}

// head is the state of a stream.
type head struct {
	at muster.Position
	// last is the page of the last append; its first is 0 if it is an element of its own, or nothing was appended yet.
	last   page
	kinds  map[muster.RecordKind]int64
	swept  int64
	cursor string
}

func readHead(e element) (head, error) {
	last, err := readPage(e)
	n := attribute.NumbersOf(e)
	h := head{at: muster.Position{Epoch: n.Optional(attrEpoch), Seq: n.Optional(attrSeq)}, last: last,
		kinds: map[muster.RecordKind]int64{}, swept: n.Optional(attrSwept), cursor: attribute.TextOf(e[attrCursor])}
	if err := cmp.Or(err, damaged(e, n.Err())); err != nil {
		return head{}, err
	}
	if s := attribute.TextOf(e[attrKinds]); s != "" {
		if err := json.Unmarshal([]byte(s), &h.kinds); err != nil {
			return head{}, fmt.Errorf("read the head of %q: %w", attribute.TextOf(e[attrStream]), err)
		}
	}
	return h, nil
}

func headOf(fleet string) element {
	return element{attrStream: attribute.Text(fleetPrefix + fleet), attrElement: attribute.Text(headKey)}
}

// createPatience bounds the wait for a new table.
const createPatience = 2 * time.Minute

// Creator is the part of DynamoDB's client that [Create] needs.
type Creator interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput,
		error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Create makes the table, unless it exists, and waits until it can be used. The table is billed per request.
func Create(ctx context.Context, api Creator, table string) error {
	_, err := api.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(attrStream), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(attrElement), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String(attrStream), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(attrElement), KeyType: types.KeyTypeRange}},
	})
	if _, there := errors.AsType[*types.ResourceInUseException](err); err != nil && !there {
		return fmt.Errorf("make the table %s: %w", table, err)
	}
	if err := dynamodb.NewTableExistsWaiter(api).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table},
		createPatience); err != nil {
		return fmt.Errorf("wait for the table %s: %w", table, err)
	}
	return nil
}
