// Actions about queues: creating, listing, attributes, tags, purging and deleting.

package action

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// The request and result types of this package carry the names of the SQS API. Pointers distinguish an
// absent parameter from an empty one.
type createQueueRequest struct {
	QueueName  *string
	Attributes map[string]string `query:"Attribute,Name,Value"`
	Tags       map[string]string `json:"tags" query:"Tag,Key,Value"`
}

type queueURLResult struct {
	QueueURL string `json:"QueueUrl"`
}

// createQueue creates a queue in the place of the request.
func (c *Call) createQueue(r *createQueueRequest) (any, error) {
	if r.QueueName == nil {
		return nil, noQueueName()
	}
	key := c.key(c.At, *r.QueueName)
	if strings.Contains(*r.QueueName, ":") { // it would reach into another place; "?" is refused as a name
		key = "?"
	}
	if err := c.Queues.CreateQueue(c.Context, key, r.Attributes, r.Tags); err != nil {
		return nil, err
	}
	return queueURLResult{c.url(key)}, nil
}

// noQueueName is the refusal of a request without a queue name.
func noQueueName() error {
	return &queue.Error{Kind: queue.ErrInvalidParameter,
		Text: "Value for parameter QueueName is invalid. Reason: Must specify a queue name."}
}

type getQueueURLRequest struct {
	QueueName              *string
	QueueOwnerAWSAccountID *string `json:"QueueOwnerAWSAccountId"`
}

// getQueueURL returns the URL of an existing queue. Counts is the cheapest call that fails for a
// missing one.
func (c *Call) getQueueURL(r *getQueueURLRequest) (any, error) {
	if r.QueueName == nil || *r.QueueName == "" {
		return nil, noQueueName()
	}
	// A queue of another account is looked up in the caller's region.
	at := c.At
	if owner := r.QueueOwnerAWSAccountID; owner != nil && *owner != "" {
		if at.Account = *owner; !IsAccount(at.Account) {
			return nil, queue.ErrQueueNotFound
		}
	}
	key, err := c.named(at, *r.QueueName)
	if err == nil {
		_, err = c.Queues.Counts(key)
	}
	if err != nil {
		return nil, err
	}
	return queueURLResult{c.url(key)}, nil
}

// page is the paging of a listing.
type page struct {
	MaxResults *int
	NextToken  *string
}

// maxPage is the largest page, and the size of one if none is given.
const maxPage = 1000

// of cuts a page out of sorted names. The token is the last name of the page before, so queues that are
// created or deleted between two pages shift nothing. As at AWS, a token is returned only if MaxResults
// was given.
func (p page) of(names []string) (_ []string, next string, err error) {
	size := maxPage
	if p.MaxResults != nil {
		if size = *p.MaxResults; size < 1 || size > maxPage {
			return nil, "", &queue.Error{Kind: queue.ErrInvalidParameter,
				Text: "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 " +
					"and 1000."}
		}
	}
	// The token is opaque to callers and needs no secret: any name may be in it.
	if p.NextToken != nil && *p.NextToken != "" {
		last, err := base64.RawURLEncoding.DecodeString(*p.NextToken)
		if err != nil {
			return nil, "", &queue.Error{Kind: queue.ErrInvalidParameter, Text: "Invalid or expired next token."}
		}
		after, found := slices.BinarySearch(names, string(last))
		if found {
			after++
		}
		names = names[after:]
	}
	if len(names) <= size {
		return names, "", nil
	}
	// AWS returns at most 1000 names without a token to callers that gave no MaxResults.
	names = names[:size]
	if p.MaxResults != nil {
		next = base64.RawURLEncoding.EncodeToString([]byte(names[size-1]))
	}
	return names, next, nil
}

type listQueuesRequest struct {
	QueueNamePrefix string
	page
}

type listQueuesResult struct {
	QueueURLs []string `json:"QueueUrls,omitempty" query:"QueueUrl"`
	NextToken string   `json:",omitempty"`
}

// listQueues lists the queues in the place of the request.
func (c *Call) listQueues(r *listQueuesRequest) (any, error) {
	names := slices.DeleteFunc(c.Queues.Queues(), func(key string) bool {
		at, name := c.Placed(key)
		return at != c.At || !strings.HasPrefix(name, r.QueueNamePrefix)
	})
	names, next, err := r.of(names)
	if err != nil {
		return nil, err
	}
	return listQueuesResult{c.urls(names), next}, nil
}

// queueRequest names a queue, as the only parameter or among others.
type queueRequest struct {
	QueueURL *string `json:"QueueUrl"`
}

func (c *Call) deleteQueue(r *queueRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, c.Queues.DeleteQueue(c.Context, name)
}

func (c *Call) purgeQueue(r *queueRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, c.Queues.Purge(c.Context, name)
}

type getQueueAttributesRequest struct {
	queueRequest
	AttributeNames []string `query:"AttributeName"`
}

type attributesResult struct {
	Attributes map[string]string `json:",omitempty" query:"Attribute,Name,Value"`
}

// attributeNames are the attributes that a request may name, even if the queue lacks them.
var attributeNames = []string{
	"All", "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
	"ContentBasedDeduplication", "CreatedTimestamp", "DeduplicationScope", "DelaySeconds", "FifoQueue",
	"FifoThroughputLimit",
	"KmsDataKeyReusePeriodSeconds", "KmsMasterKeyId", "LastModifiedTimestamp", "MaximumMessageSize",
	"MessageRetentionPeriod",
	"Policy", "QueueArn", "ReceiveMessageWaitTimeSeconds", "RedriveAllowPolicy", "RedrivePolicy",
	"SqsManagedSseEnabled",
	"VisibilityTimeout",
}

// getQueueAttributes returns the named attributes, or all. The queue is looked up first: a missing
// queue is reported before an unknown attribute.
func (c *Call) getQueueAttributes(r *getQueueAttributesRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	have, err := c.Queues.Attributes(name)
	if err != nil {
		return nil, err
	}
	// Package queue knows no ARNs.
	have["QueueArn"] = c.arn(name)
	for _, wanted := range r.AttributeNames {
		if !slices.Contains(attributeNames, wanted) {
			return nil, protocol.UnknownAttribute(wanted)
		}
	}
	if !slices.Contains(r.AttributeNames, "All") {
		maps.DeleteFunc(have, func(key, _ string) bool { return !slices.Contains(r.AttributeNames, key) })
	}
	return attributesResult{have}, nil
}

// setQueueAttributesRequest has attributes under their SQS names, as texts.
type setQueueAttributesRequest struct {
	queueRequest
	Attributes map[string]string `query:"Attribute,Name,Value"`
}

func (c *Call) setQueueAttributes(r *setQueueAttributesRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(r.Attributes) == 0 {
		return nil, protocol.Missing("Attribute.Name")
	}
	return nil, c.Queues.SetAttributes(c.Context, name, r.Attributes)
}

type tagsResult struct {
	Tags map[string]string `json:",omitempty" query:"Tag,Key,Value"`
}

func (c *Call) listQueueTags(r *queueRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	tags, err := c.Queues.Tags(name)
	return tagsResult{tags}, err
}

type tagQueueRequest struct {
	queueRequest
	Tags map[string]string `query:"Tag,Key,Value"`
}

func (c *Call) tagQueue(r *tagQueueRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(r.Tags) == 0 {
		return nil, protocol.Missing("Tags")
	}
	return nil, c.Queues.Tag(c.Context, name, r.Tags)
}

type untagQueueRequest struct {
	queueRequest
	TagKeys []string `query:"TagKey"`
}

func (c *Call) untagQueue(r *untagQueueRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(r.TagKeys) == 0 {
		return nil, &queue.Error{Kind: queue.ErrInvalidParameter,
			Text: "Tag keys must be between 1 and 128 characters in length."}
	}
	return nil, c.Queues.Untag(c.Context, name, r.TagKeys)
}

// listDeadLetterSourceQueuesRequest pages like listQueuesRequest.
type listDeadLetterSourceQueuesRequest struct {
	queueRequest
	page
}

type deadLetterSourcesResult struct {
	QueueURLs []string `json:"queueUrls" query:"QueueUrl"` // AWS begins it with a small letter here, unlike in ListQueues
	NextToken string   `json:",omitempty"`
}

// listDeadLetterSourceQueues lists the queues that use a queue for their dead letters.
func (c *Call) listDeadLetterSourceQueues(r *listDeadLetterSourceQueuesRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	sources, err := c.Queues.DeadLetterSources(name)
	if err != nil {
		return nil, err
	}
	names, next, err := r.of(sources)
	if err != nil {
		return nil, err
	}
	return deadLetterSourcesResult{c.urls(names), next}, nil
}
