package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// SQS returns an SQS client for the queue or endpoint at the URL target. It uses the keys of the embedded queue as
// [UseLocalKeys] says.
func SQS(ctx context.Context, place Place, target string) (*awssqs.Client, error) {
	cfg, err := SQSConfig(ctx, place, target)
	if err != nil {
		return nil, err
	}
	return awssqs.NewFromConfig(cfg), nil
}

// SQSConfig returns the configuration of the client that [SQS] returns.
func SQSConfig(ctx context.Context, place Place, target string) (aws.Config, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return aws.Config{}, errNoURL(target)
	}
	UseLocalKeys(place, target)
	return awsapi.At(ctx, target, nil)
}

// FindQueue asks SQS for the URL of a queue. When the queue does not exist, the error lists the existing ones.
func FindQueue(ctx context.Context, c *awssqs.Client, name string) (string, error) {
	out, err := c.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: &name})
	if err == nil {
		return aws.ToString(out.QueueUrl), nil
	}
	if _, absent := errors.AsType[*types.QueueDoesNotExist](err); !absent {
		return "", Explain(err)
	}
	list, err := c.ListQueues(ctx, &awssqs.ListQueuesInput{MaxResults: aws.Int32(1000)})
	if err != nil {
		return "", Explain(err)
	}
	var names []string
	for _, u := range list.QueueUrls {
		names = append(names, u[strings.LastIndexByte(u, '/')+1:])
	}
	return "", NoQueue(name, names)
}

// Explain says what a person can do about an SQS error, without the SDK's wrapping. It returns other errors unchanged.
func Explain(err error) error {
	if unsigned, ok := errors.AsType[*sqsqueue.NoCredentialsError](err); ok {
		return fmt.Errorf("%w; for an embedded queue muster up prints export lines, and commands with its -f need none",
			unsigned)
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return fmt.Errorf("%s: %w; is muster up running, and are its export lines set?", op.OperationName, op.Err)
	}
	return err
}

// maxNamed bounds the queues that an error lists.
const maxNamed = 20

// NoQueue returns the error about a queue that does not exist. It lists the existing queues and suggests the name that
// was probably meant.
func NoQueue(name string, names []string) error {
	text := fmt.Sprintf("there is no queue %.100q; there is %s", name, misuse.Names(names, maxNamed))
	if near := config.Suggest(name, names); near != "" {
		text += "; " + near
	}
	return misuse.Errorf("%s", text)
}
