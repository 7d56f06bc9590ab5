// The frequent requests and results without reflection. A request lists its members for
// protocol.Reader; rare members are missing, and a request with one goes to encoding/json. Results are
// written exactly as encoding/json writes them, which tests check.

package action

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// member returns a parameter of a request and where its value goes.
func member(name string, into any) protocol.Member { return protocol.Member{Name: name, Into: into} }

// Reset implements protocol.FastRequest.
func (r *sendMessageRequest) Reset() { *r = sendMessageRequest{} }

// Members lists the members of the simple form.
func (r *sendMessageRequest) Members(to []protocol.Member) []protocol.Member {
	return append(to, member("QueueUrl", &r.QueueURL), member("MessageBody", &r.MessageBody),
		member("DelaySeconds", &r.DelaySeconds), member("MessageGroupId", &r.MessageGroupID),
		member("MessageDeduplicationId", &r.MessageDeduplicationID))
}

// Reset implements protocol.FastRequest.
func (r *sendMessageBatchRequest) Reset() { *r = sendMessageBatchRequest{} }

// Members lists the members of the simple form.
func (r *sendMessageBatchRequest) Members(to []protocol.Member) []protocol.Member {
	entries := protocol.Entries(&r.Entries, func(to []protocol.Member, e *sendEntry) []protocol.Member {
		return append(to, member("Id", &e.ID), member("MessageBody", &e.MessageBody),
			member("DelaySeconds", &e.DelaySeconds), member("MessageGroupId", &e.MessageGroupID),
			member("MessageDeduplicationId", &e.MessageDeduplicationID))
	})
	return append(to, member("QueueUrl", &r.QueueURL), member("Entries", entries))
}

// Reset implements protocol.FastRequest.
func (r *deleteMessageRequest) Reset() { *r = deleteMessageRequest{} }

// Members lists the members of the simple form.
func (r *deleteMessageRequest) Members(to []protocol.Member) []protocol.Member {
	return append(to, member("QueueUrl", &r.QueueURL), member("ReceiptHandle", &r.ReceiptHandle))
}

// Reset implements protocol.FastRequest.
func (r *deleteMessageBatchRequest) Reset() { *r = deleteMessageBatchRequest{} }

// Members lists the members of the simple form.
func (r *deleteMessageBatchRequest) Members(to []protocol.Member) []protocol.Member {
	entries := protocol.Entries(&r.Entries, func(to []protocol.Member, e *deleteEntry) []protocol.Member {
		return append(to, member("Id", &e.ID), member("ReceiptHandle", &e.ReceiptHandle))
	})
	return append(to, member("QueueUrl", &r.QueueURL), member("Entries", entries))
}

// Reset implements protocol.FastRequest.
func (r *changeMessageVisibilityRequest) Reset() { *r = changeMessageVisibilityRequest{} }

// Members lists the members of the simple form.
func (r *changeMessageVisibilityRequest) Members(to []protocol.Member) []protocol.Member {
	return append(to, member("QueueUrl", &r.QueueURL), member("ReceiptHandle", &r.ReceiptHandle),
		member("VisibilityTimeout", &r.VisibilityTimeout))
}

// Reset implements protocol.FastRequest.
func (r *receiveMessageRequest) Reset() { *r = receiveMessageRequest{} }

// Members lists the members of the simple form.
func (r *receiveMessageRequest) Members(to []protocol.Member) []protocol.Member {
	return append(to, member("QueueUrl", &r.QueueURL), member("AttributeNames", &r.AttributeNames),
		member("MessageSystemAttributeNames", &r.MessageSystemAttributeNames),
		member("MessageAttributeNames", &r.MessageAttributeNames),
		member("MaxNumberOfMessages", &r.MaxNumberOfMessages),
		member("VisibilityTimeout", &r.VisibilityTimeout), member("WaitTimeSeconds", &r.WaitTimeSeconds),
		member("ReceiveRequestAttemptId", &r.ReceiveRequestAttemptID))
}

// AppendJSON implements protocol.FastResult, here and below.
func (s sentResult) AppendJSON(b []byte) []byte { return s.append(b) }

// append writes by pointer: a batch has ten of them.
func (s *sentResult) append(b []byte) []byte {
	b = append(b, '{')
	if s.ID != "" {
		b = append(protocol.AppendText(append(b, `"Id":`...), s.ID), ',')
	}
	b = protocol.AppendText(append(b, `"MessageId":`...), s.MessageID)
	b = protocol.AppendPart(b, "MD5OfMessageBody", s.MD5OfMessageBody)
	b = protocol.AppendGiven(b, "MD5OfMessageAttributes", s.MD5OfMessageAttributes)
	b = protocol.AppendGiven(b, "MD5OfMessageSystemAttributes", s.MD5OfMessageSystemAttributes)
	return append(protocol.AppendGiven(b, "SequenceNumber", s.SequenceNumber), '}')
}

func (r sendBatchResult) AppendJSON(b []byte) []byte {
	return appendBatch(b, r.Successful, func(b []byte, s *sentResult) []byte { return s.append(b) }, r.Failed)
}

func (r deletedResult) AppendJSON(b []byte) []byte {
	return appendBatch(b, r.Successful, appendID, r.Failed)
}

func (r changedResult) AppendJSON(b []byte) []byte {
	return appendBatch(b, r.Successful, appendID, r.Failed)
}

// appendBatch appends the result of a batch. An empty list is left out.
func appendBatch[E any](b []byte, successful []E, add func([]byte, *E) []byte, failed []failedEntry) []byte {
	b = append(b, '{')
	if len(successful) > 0 {
		b = protocol.AppendList(append(b, `"Successful":`...), successful, add)
	}
	if len(successful) > 0 && len(failed) > 0 {
		b = append(b, ',')
	}
	if len(failed) > 0 {
		b = protocol.AppendList(append(b, `"Failed":`...), failed, appendFailed)
	}
	return append(b, '}')
}

// appendID appends an entry of a batch without details.
func appendID(b []byte, id *batchID) []byte {
	return append(protocol.AppendText(append(b, `{"Id":`...), id.ID), '}')
}

// appendFailed appends a failed entry.
func appendFailed(b []byte, f *failedEntry) []byte {
	b = protocol.AppendText(append(b, `{"Id":`...), f.ID)
	b = strconv.AppendBool(append(b, `,"SenderFault":`...), f.SenderFault)
	return append(protocol.AppendPart(protocol.AppendPart(b, "Code", f.Code), "Message", f.Message), '}')
}

func (r receiveMessageResult) AppendJSON(b []byte) []byte {
	if len(r.Messages) == 0 {
		return append(b, "{}"...)
	}
	// One allocation for the whole answer. A body may be JSON itself, whose quotes need escapes: a
	// sixteenth more is enough for most.
	room := 0
	for i := range r.Messages {
		room += len(r.Messages[i].Body)*17/16 + 256 // 256 for ids, receipt and names
	}
	b = slices.Grow(b, room)
	return append(protocol.AppendList(append(b, `{"Messages":`...), r.Messages, appendReceived), '}')
}

// appendReceived appends a message. Its maps are rare enough for encoding/json.
func appendReceived(b []byte, m *receivedMessage) []byte {
	b = protocol.AppendText(append(b, `{"MessageId":`...), m.MessageID)
	b = protocol.AppendPart(b, "ReceiptHandle", m.ReceiptHandle)
	b = protocol.AppendPart(b, "MD5OfBody", m.MD5OfBody)
	b = protocol.AppendPart(b, "Body", m.Body)
	if len(m.Attributes) > 0 {
		b = appendAny(b, "Attributes", m.Attributes)
	}
	b = protocol.AppendGiven(b, "MD5OfMessageAttributes", m.MD5OfMessageAttributes)
	if len(m.MessageAttributes) > 0 {
		b = appendAny(b, "MessageAttributes", m.MessageAttributes)
	}
	return append(b, '}')
}

// appendAny appends a member with a map, which encoding/json writes in the order of the keys.
func appendAny(b []byte, name string, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte("null") // impossible: the maps hold only texts and bytes
	}
	return append(append(append(append(b, `,"`...), name...), `":`...), text...)
}
