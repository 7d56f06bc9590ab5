package dynamolease_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster/history/dynamohistory"
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
