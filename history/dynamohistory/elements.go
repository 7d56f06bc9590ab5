package dynamohistory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
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
type element = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// textOf returns the value of a text attribute, "" for anything else.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// numberOf returns the value of a number attribute, 0 for anything else.
func numberOf(v types.AttributeValue) int64 {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		i, _ := strconv.ParseInt(n.Value, 10, 64)
		return i
	}
	return 0
}

// bytesOf returns the value of a binary attribute.
func bytesOf(v types.AttributeValue) []byte {
	if b, ok := v.(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

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
	e := element{attrFirst: number(p.first), attrEnd: number(p.end), attrOldest: number(p.oldest),
		attrNewest: number(p.newest), attrNonce: text(p.nonce), attrParts: number(p.parts)}
	if p.parts == 0 {
		e[attrBody] = &types.AttributeValueMemberB{Value: p.body}
	}
	return e
}

// element is p as an element of its own.
func (p page) element(fleet string) element {
	e := p.attributes()
	e[attrStream], e[attrElement] = text(fleetPrefix+fleet), text(pageKey(p.first))
	e[attrVersion], e[attrExpires] = number(p.version), expires(p.newest)
	return e
}

// expires is the time from which on DynamoDB may remove an element, for what is as new as newest.
func expires(newest int64) types.AttributeValue {
	return number(rules.Instant(newest).Add(rules.MaxKeep).Unix())
}

func readPage(e element) page {
	return page{first: numberOf(e[attrFirst]), end: numberOf(e[attrEnd]), oldest: numberOf(e[attrOldest]),
		newest: numberOf(e[attrNewest]), body: bytesOf(e[attrBody]), parts: numberOf(e[attrParts]),
		nonce: textOf(e[attrNonce]), version: numberOf(e[attrVersion])}
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
	h := head{at: muster.Position{Epoch: numberOf(e[attrEpoch]), Seq: numberOf(e[attrSeq])}, last: readPage(e),
		kinds: map[muster.RecordKind]int64{}, swept: numberOf(e[attrSwept]), cursor: textOf(e[attrCursor])}
	if s := textOf(e[attrKinds]); s != "" {
		if err := json.Unmarshal([]byte(s), &h.kinds); err != nil {
			return head{}, fmt.Errorf("read the head of %q: %w", textOf(e[attrStream]), err)
		}
	}
	return h, nil
}

func headOf(fleet string) element {
	return element{attrStream: text(fleetPrefix + fleet), attrElement: text(headKey)}
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
