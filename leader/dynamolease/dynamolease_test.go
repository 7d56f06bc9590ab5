package dynamolease_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/internal/attribute"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/dynamolease"
	"github.com/muster-scale/muster/leader/leasetest"
	"github.com/muster-scale/muster/mustertest/faketable"
)

func TestTheTableKeepsTheContract(t *testing.T) {
	leasetest.Conformance(t, func(t *testing.T) leader.Store {
		return dynamolease.New(faketable.New("stream", "element"), "history")
	})
}

// twice makes each put two times, as a client does whose first answer was lost.
type twice struct{ *faketable.Table }

func (w twice) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	w.Table.PutItem(ctx, in, o...)
	return w.Table.PutItem(ctx, in, o...)
}

func TestALostAnswerIsNoDefeat(t *testing.T) {
	leasetest.Conformance(t, func(t *testing.T) leader.Store {
		return dynamolease.New(twice{faketable.New("stream", "element")}, "history")
	})
}

// TestARealTableKeepsTheContract asks whatever speaks DynamoDB's protocol at MUSTER_DYNAMODB, one rule after the other.
func TestARealTableKeepsTheContract(t *testing.T) {
	endpoint := os.Getenv("MUSTER_DYNAMODB")
	if endpoint == "" {
		t.Skip("MUSTER_DYNAMODB names no endpoint, such as http://127.0.0.1:8000 of DynamoDB Local")
	}
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	leasetest.Conformance(t, func(t *testing.T) leader.Store {
		table := "leases-" + time.Now().UTC().Format("150405.000000000")
		if err := dynamohistory.Create(t.Context(), client, table); err != nil {
			t.Fatal(err)
		}
		return dynamolease.New(client, table)
	})
}

// TestASessionThatIsNoSessionIsAnError: its beat, read as 0, would be that of a controller that has just begun.
func TestASessionThatIsNoSessionIsAnError(t *testing.T) {
	for _, row := range []struct{ stream, attribute, want string }{
		{"sessions", "beat", `read the session "x", which may be deleted: its attribute beat: found the text "7"`},
		{"claims", "term", `read the claim on fleet "x", which may be deleted: its attribute term: found the text "7"`},
	} {
		table := faketable.New("stream", "element")
		if _, err := table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("history"),
			Item: attribute.Element{"stream": attribute.Text(row.stream), "element": attribute.Text("x"),
				row.attribute: attribute.Text("7")}}); err != nil {
			t.Fatal(err)
		}
		_, err := dynamolease.New(table, "history").Read(t.Context(), true)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("found error %v, want one that says %s", err, row.want)
		}
	}
}

// absent is a table that does not exist.
type absent struct{ dynamolease.API }

func (absent) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, &types.ResourceNotFoundException{}
}

func (absent) PutItem(context.Context, *dynamodb.PutItemInput,
	...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, &types.ResourceNotFoundException{}
}

// TestAMissingTableIsExplained holds that muster status and muster doctor say how to make the table.
func TestAMissingTableIsExplained(t *testing.T) {
	s := dynamolease.New(absent{}, "shared")
	const want = "there is no table shared in this region and account; make it: aws dynamodb create-table"
	_, unread := s.Read(t.Context(), true)
	for _, err := range []error{s.Beat(t.Context(), leader.Session{ID: "x", Name: "x", Beat: 1}), unread} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found error %v, want one that says %s", err, want)
		}
	}
}
