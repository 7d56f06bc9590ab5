package dynamohistory_test

import (
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
	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/history/historytest"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/faketable"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// on returns the store in a table.
func on(t testing.TB, api dynamohistory.API) *dynamohistory.Store {
	t.Helper()
	s, err := dynamohistory.New(api, "history")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func empty() *faketable.Table { return faketable.New("stream", "element") }

func TestTheTableKeepsTheContract(t *testing.T) {
	mustertest.HistoryConformance(t, func(t *testing.T) muster.History { return on(t, empty()) })
}

func TestTheTableFindsAndPrunes(t *testing.T) {
	historytest.Conformance(t, func(t *testing.T) historytest.Store { return on(t, empty()) })
}

func TestTheTableIsDurable(t *testing.T) {
	table := empty()
	mustertest.HistoryDurability(t, func(t *testing.T, dir string) (muster.History, func()) {
		return on(t, table), func() {}
	})
}

// TestTableAndMemoryAgree opens the table anew at random, so that heads are sometimes remembered and sometimes read.
func TestTableAndMemoryAgree(t *testing.T) {
	var table *faketable.Table
	historytest.AgreesWithMemory(t, historytest.Against{
		Open: func(*rapid.T) historytest.Store { table = empty(); return on(t, table) },
		Reopen: func(*rapid.T, historytest.Store) historytest.Store {
			return on(t, table)
		},
		PruneAfter: 7 * time.Hour, CopiesShared: true,
	})
}

// TestARealTableKeepsTheContract asks whatever speaks DynamoDB's protocol at MUSTER_DYNAMODB, in tables that it makes.
func TestARealTableKeepsTheContract(t *testing.T) {
	endpoint := os.Getenv("MUSTER_DYNAMODB")
	if endpoint == "" {
		t.Skip("MUSTER_DYNAMODB names no endpoint, such as http://127.0.0.1:8000 of DynamoDB Local")
	}
	client := dynamodb.New(dynamodb.Options{HTTPClient: &inTurn{}, Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	n := 0
	open := func(t *testing.T) *dynamohistory.Store {
		n++
		table := fmt.Sprintf("history-%s-%d", time.Now().UTC().Format("150405.000000"), n)
		for range 2 { // the second time it is there
			if err := dynamohistory.Create(t.Context(), client, table); err != nil {
				t.Fatal(err)
			}
		}
		s, err := dynamohistory.New(client, table)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	mustertest.HistoryConformance(t, func(t *testing.T) muster.History { return open(t) })
	historytest.Conformance(t, func(t *testing.T) historytest.Store { return open(t) })
}

// inTurn makes one request at a time, because stand-ins for DynamoDB do not keep concurrent requests apart.
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
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	return resp, err
}

// twice makes each update two times and gives the second answer, as a client does whose first answer was lost.
type twice struct{ *faketable.Table }

func (w twice) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	w.Table.UpdateItem(ctx, in, o...)
	return w.Table.UpdateItem(ctx, in, o...)
}

func TestALostAnswerIsNoConflict(t *testing.T) {
	s := on(t, twice{empty()})
	p, err := s.Begin(t.Context(), "a")
	for i := range 3 {
		if err == nil {
			p, err = s.Append(t.Context(), "a", p, historytest.Record(noon, muster.Changed, fmt.Sprint(i)))
		}
	}
	if err != nil || p.Seq != 3 {
		t.Errorf("after three appends, each repeated by the client, the position is %+v, %v", p, err)
	}
}

// TestAnInterruptedAppendIsThereWholeOrNotAtAll stops an append of a large record before or after each of its calls, as
// a crash does. A second writer goes on, and a reader must see the records of both, or of the second alone.
func TestAnInterruptedAppendIsThereWholeOrNotAtAll(t *testing.T) {
	large := muster.Record{At: noon, Kind: muster.Changed, Body: []byte(`"` + noise(900<<10) + `"`)}
	crash := errors.New("the machine is gone")
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			table := empty()
			s := on(t, table)
			p, err := s.Begin(t.Context(), "a")
			if err == nil {
				p, err = s.Append(t.Context(), "a", p, historytest.Record(noon, muster.Changed, `1`))
			}
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			hook := func(string) error {
				if calls++; calls >= at {
					return crash
				}
				return nil
			}
			if table.Before = hook; after {
				table.Before, table.After = nil, hook
			}
			_, failed := s.Append(t.Context(), "a", p, large, historytest.Record(noon, muster.Changed, `3`))
			table.Before, table.After = nil, nil
			next := on(t, table)
			if p, err = next.Begin(t.Context(), "a"); err == nil {
				_, err = next.Append(t.Context(), "a", p, historytest.Record(noon, muster.Changed, `"second"`))
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			next.Read(t.Context(), "a", time.Time{}, func(r muster.Record) bool {
				got = append(got, fmt.Sprintf("%d:%.8s", r.Position.Seq, r.Body))
				return true
			})
			switch seen := strings.Join(got, " "); {
			case seen == `1:1 2:"second"` && failed != nil:
			case strings.HasPrefix(seen, `1:1 2:"`) && strings.HasSuffix(seen, ` 3:3 4:"second"`):
			default:
				t.Errorf("stopped at call %d (after it: %v) with %v, there are %s", at, after, failed, seen)
			}
			if failed == nil {
				if at < 5 {
					t.Fatalf("the append made %d calls: the test proves nothing", at-1)
				}
				break
			}
		}
	}
}

func noise(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-"[x>>26]
	}
	return string(b)
}

func TestAnAppendCostsTwoWrites(t *testing.T) {
	table := empty()
	s := on(t, table)
	p, err := s.Begin(t.Context(), "a")
	for i := range 10 {
		if err == nil {
			p, err = s.Append(t.Context(), "a", p, historytest.Record(noon, muster.Changed, fmt.Sprint(i)))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	// One put lists the fleet, and each append but the first moves the page of the one before.
	if got, want := fmt.Sprint(table.Calls()), "map[PutItem:10 UpdateItem:11]"; got != want {
		t.Errorf("ten appends made the calls %s, want %s", got, want)
	}
}

func TestAForeignPageIsRefused(t *testing.T) {
	for what, body := range map[string][]byte{"nothing": nil, "no page": []byte("hello"),
		"a newer form": {0x2a, 0x62, 0x00, 0x04, 0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff}} {
		table := empty()
		s := on(t, table)
		if _, err := table.PutItem(t.Context(), &dynamodb.PutItemInput{Item: faketable.Element{
			"stream": text("fleet#a"), "element": text("head"), "epoch": number("1"), "seq": number("1"),
			"first": number("1"), "end": number("1"), "body": &types.AttributeValueMemberB{Value: body}}}); err != nil {
			t.Fatal(err)
		}
		err := s.Read(t.Context(), "a", time.Time{}, func(muster.Record) bool { return true })
		if err == nil || !strings.Contains(err.Error(), "cannot read") {
			t.Errorf("%s as a page: found error %v, want one that says so", what, err)
		}
	}
}

// TestAHeadWithoutNumbersIsAnError: read as 0, its position would let a writer begin anew over what is there.
func TestAHeadWithoutNumbersIsAnError(t *testing.T) {
	table := empty()
	s := on(t, table)
	if _, err := table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("history"),
		Item: map[string]types.AttributeValue{"stream": text("fleet#a"), "element": text("head"), "epoch": number("1"),
			"seq": text("7")}}); err != nil {
		t.Fatal(err)
	}
	const want = `read the element "head" of "fleet#a": its attribute seq: found the text "7", want a whole number`
	err := s.Read(t.Context(), "a", time.Time{}, func(muster.Record) bool { return true })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("found error %v, want one that says %s", err, want)
	}
	if _, err := s.Last(t.Context(), "a", 1); err == nil {
		t.Error("the last records were read from a damaged head")
	}
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func TestAMissingTableIsExplained(t *testing.T) {
	table := empty()
	table.Before = func(string) error { return &types.ResourceNotFoundException{Message: aws.String("none")} }
	if _, err := on(t, table).Begin(t.Context(), "a"); err == nil ||
		!strings.Contains(err.Error(), "aws dynamodb create-table --table-name history") {
		t.Errorf("found %v, want how to make the table", err)
	}
	if _, err := dynamohistory.New(table, "x"); err == nil {
		t.Error("a table with a name of one letter was taken")
	}
}
