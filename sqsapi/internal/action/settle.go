// DeleteMessage, ChangeMessageVisibility and their batches.

package action

import (
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

type deleteMessageRequest struct {
	queueRequest
	ReceiptHandle string
}

// deleteMessage deletes one message.
func (c *Call) deleteMessage(r *deleteMessageRequest, s Store, who Caller) error {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return err
	}
	s.Delete(name, []string{r.ReceiptHandle}, func(errs []error) {
		who.Answer(func() (any, error) { return nil, errs[0] })
	})
	return nil
}

type deleteEntry struct {
	batchID
	ReceiptHandle string
}

type deleteMessageBatchRequest struct {
	queueRequest
	Entries []deleteEntry `query:"DeleteMessageBatchRequestEntry"`
}

// deleteMessageBatch deletes up to ten messages.
func (c *Call) deleteMessageBatch(r *deleteMessageBatchRequest, s Store, who Caller) error {
	name, ids, handles, err := r.named(c)
	if err != nil {
		return err
	}
	s.Delete(name, handles, func(errs []error) {
		who.Answer(func() (any, error) {
			result, err := outcome(ids, errs)
			return deletedResult(result), err
		})
	})
	return nil
}

// named returns the key of the queue, and ids and handles of the entries.
func (r *deleteMessageBatchRequest) named(c *Call) (name string, ids, handles []string, err error) {
	if name, err = c.queueName(r.QueueURL); err == nil {
		err = checkIDs("DeleteMessageBatchRequestEntry", r.Entries)
	}
	if err != nil {
		return "", nil, nil, err
	}
	ids, handles = make([]string, len(r.Entries)), make([]string, len(r.Entries))
	for i, e := range r.Entries {
		ids[i], handles[i] = e.ID, e.ReceiptHandle
	}
	return name, ids, handles, nil
}

type deletedResult struct {
	Successful []batchID     `json:",omitempty" query:"DeleteMessageBatchResultEntry"`
	Failed     []failedEntry `json:",omitempty" query:"BatchResultErrorEntry"`
}

type changeMessageVisibilityRequest struct {
	queueRequest
	ReceiptHandle     string
	VisibilityTimeout *int
}

// changeMessageVisibility sets when a message becomes visible. It is rare compared to deletes, so it
// needs no Store.
func (c *Call) changeMessageVisibility(r *changeMessageVisibilityRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if r.VisibilityTimeout == nil {
		return nil, protocol.Missing("VisibilityTimeout")
	}
	// Package queue checks the range of the timeout.
	change := queue.VisibilityChange{
		Receipt: r.ReceiptHandle, Timeout: *secondsOf(*r.VisibilityTimeout), Returned: c.Returned,
	}
	return nil, c.Queues.ChangeVisibility(c.Context, name, []queue.VisibilityChange{change})[0]
}

// changeEntry is one entry; VisibilityTimeout is in seconds and required.
type changeEntry struct {
	batchID
	ReceiptHandle     string
	VisibilityTimeout *int
}

type changeMessageVisibilityBatchRequest struct {
	queueRequest
	Entries []changeEntry `query:"ChangeMessageVisibilityBatchRequestEntry"`
}

type changedResult struct {
	Successful []batchID     `json:",omitempty" query:"ChangeMessageVisibilityBatchResultEntry"`
	Failed     []failedEntry `json:",omitempty" query:"BatchResultErrorEntry"`
}

// changeMessageVisibilityBatch is changeMessageVisibility for up to ten messages. A missing timeout
// fails the whole batch.
func (c *Call) changeMessageVisibilityBatch(r *changeMessageVisibilityBatchRequest) (any, error) {
	name, err := c.queueName(r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := checkIDs("ChangeMessageVisibilityBatch", r.Entries); err != nil {
		return nil, err
	}
	ids, changes := make([]string, len(r.Entries)), make([]queue.VisibilityChange, len(r.Entries))
	for i, e := range r.Entries {
		if e.VisibilityTimeout == nil {
			return nil, protocol.Missing("VisibilityTimeout")
		}
		ids[i] = e.ID
		changes[i] = queue.VisibilityChange{
			Receipt: e.ReceiptHandle, Timeout: *secondsOf(*e.VisibilityTimeout), Returned: c.Returned,
		}
	}
	result, err := outcome(ids, c.Queues.ChangeVisibility(c.Context, name, changes))
	return changedResult(result), err
}
