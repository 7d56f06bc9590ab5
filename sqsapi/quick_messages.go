package sqsapi

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/muster-scale/muster/queue"
)

func (r *sendMessageRequest) reset() { *r = sendMessageRequest{} }

func (r *sendMessageRequest) members(to []member) []member {
	return append(to, []member{
		{"QueueUrl", &r.QueueURL}, {"MessageBody", &r.MessageBody}, {"DelaySeconds", &r.DelaySeconds},
		{"MessageGroupId", &r.MessageGroupID}, {"MessageDeduplicationId", &r.MessageDeduplicationID},
	}...)
}

func (r *sendMessageBatchRequest) reset() { *r = sendMessageBatchRequest{} }

func (r *sendMessageBatchRequest) members(to []member) []member {
	return append(to, member{"QueueUrl", &r.QueueURL}, member{"Entries", entries(&r.Entries, func(to []member, e *sendEntry) []member {
		return append(to, []member{
			{"Id", &e.ID}, {"MessageBody", &e.MessageBody}, {"DelaySeconds", &e.DelaySeconds},
			{"MessageGroupId", &e.MessageGroupID}, {"MessageDeduplicationId", &e.MessageDeduplicationID},
		}...)
	})})
}

func (r *deleteMessageRequest) reset() { *r = deleteMessageRequest{} }

func (r *deleteMessageRequest) members(to []member) []member {
	return append(to, []member{{"QueueUrl", &r.QueueURL}, {"ReceiptHandle", &r.ReceiptHandle}}...)
}

func (r *deleteMessageBatchRequest) reset() { *r = deleteMessageBatchRequest{} }

func (r *deleteMessageBatchRequest) members(to []member) []member {
	return append(to, member{"QueueUrl", &r.QueueURL}, member{"Entries", entries(&r.Entries, func(to []member, e *deleteEntry) []member {
		return append(to, []member{{"Id", &e.ID}, {"ReceiptHandle", &e.ReceiptHandle}}...)
	})})
}

func (r *changeMessageVisibilityRequest) reset() { *r = changeMessageVisibilityRequest{} }

func (r *changeMessageVisibilityRequest) members(to []member) []member {
	return append(to, []member{{"QueueUrl", &r.QueueURL}, {"ReceiptHandle", &r.ReceiptHandle}, {"VisibilityTimeout", &r.VisibilityTimeout}}...)
}

func (r *receiveMessageRequest) reset() { *r = receiveMessageRequest{} }

func (r *receiveMessageRequest) members(to []member) []member {
	return append(to, []member{
		{"QueueUrl", &r.QueueURL}, {"AttributeNames", &r.AttributeNames}, {"MessageSystemAttributeNames", &r.MessageSystemAttributeNames},
		{"MessageAttributeNames", &r.MessageAttributeNames}, {"MaxNumberOfMessages", &r.MaxNumberOfMessages},
		{"VisibilityTimeout", &r.VisibilityTimeout}, {"WaitTimeSeconds", &r.WaitTimeSeconds}, {"ReceiveRequestAttemptId", &r.ReceiveRequestAttemptID},
	}...)
}

// entries reads those of a batch.
func entries[E any](into *[]E, members func([]member, *E) []member) list {
	return func(q *quickReader) bool {
		if *into == nil {
			*into = make([]E, 0, queue.MaxBatch)
		}
		*into = append(*into, *new(E))
		q.inner = members(q.inner[:0], &(*into)[len(*into)-1])
		return q.object(q.inner)
	}
}

func (s sentResult) appendJSON(b []byte) []byte { return s.append(b) }

func (s *sentResult) append(b []byte) []byte {
	b = append(b, '{')
	if s.ID != "" {
		b = append(appendText(append(b, `"Id":`...), s.ID), ',')
	}
	b = appendText(append(b, `"MessageId":`...), s.MessageID)
	b = appendPart(b, "MD5OfMessageBody", s.MD5OfMessageBody)
	b = appendGiven(b, "MD5OfMessageAttributes", s.MD5OfMessageAttributes)
	b = appendGiven(b, "MD5OfMessageSystemAttributes", s.MD5OfMessageSystemAttributes)
	return append(appendGiven(b, "SequenceNumber", s.SequenceNumber), '}')
}

func (r sendBatchResult) appendJSON(b []byte) []byte {
	return appendBatch(b, r.Successful, func(b []byte, s *sentResult) []byte { return s.append(b) }, r.Failed)
}

func (r deletedResult) appendJSON(b []byte) []byte {
	return appendBatch(b, r.Successful, appendID, r.Failed)
}

func (r changedResult) appendJSON(b []byte) []byte {
	return appendBatch(b, r.Successful, appendID, r.Failed)
}

// appendBatch adds the result of a batch. A list without entries is left out.
func appendBatch[E any](b []byte, successful []E, add func([]byte, *E) []byte, failed []failedEntry) []byte {
	b = append(b, '{')
	if len(successful) > 0 {
		b = appendList(append(b, `"Successful":`...), successful, add)
	}
	if len(successful) > 0 && len(failed) > 0 {
		b = append(b, ',')
	}
	if len(failed) > 0 {
		b = appendList(append(b, `"Failed":`...), failed, appendFailed)
	}
	return append(b, '}')
}

func appendID(b []byte, id *batchID) []byte {
	return append(appendText(append(b, `{"Id":`...), id.ID), '}')
}

func appendFailed(b []byte, f *failedEntry) []byte {
	b = appendText(append(b, `{"Id":`...), f.ID)
	b = strconv.AppendBool(append(b, `,"SenderFault":`...), f.SenderFault)
	return append(appendPart(appendPart(b, "Code", f.Code), "Message", f.Message), '}')
}

func (r receiveMessageResult) appendJSON(b []byte) []byte {
	if len(r.Messages) == 0 {
		return append(b, "{}"...)
	}
	room := 0
	for i := range r.Messages {
		room += len(r.Messages[i].Body)*17/16 + 256 // a body may be JSON itself, with quotes to escape
	}
	b = slices.Grow(b, room)
	return append(appendList(append(b, `{"Messages":`...), r.Messages, appendReceived), '}')
}

func appendReceived(b []byte, m *receivedMessage) []byte {
	b = appendText(append(b, `{"MessageId":`...), m.MessageID)
	b = appendPart(b, "ReceiptHandle", m.ReceiptHandle)
	b = appendPart(b, "MD5OfBody", m.MD5OfBody)
	b = appendPart(b, "Body", m.Body)
	if len(m.Attributes) > 0 {
		b = appendAny(b, "Attributes", m.Attributes)
	}
	b = appendGiven(b, "MD5OfMessageAttributes", m.MD5OfMessageAttributes)
	if len(m.MessageAttributes) > 0 {
		b = appendAny(b, "MessageAttributes", m.MessageAttributes)
	}
	return append(b, '}')
}

// appendAny adds a map, which encoding/json writes.
func appendAny(b []byte, name string, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte("null") // no map of this package has what cannot be written
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), text...)
}
