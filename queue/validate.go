package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// size is what counts towards the limits: the body and the user attributes.
func (m *Outgoing) size() int {
	n := len(m.Body)
	for name, a := range m.Attributes {
		n += len(name) + len(a.Type) + len(a.Value)
	}
	return n
}

// check validates one message for a queue with settings s.
func (m *Outgoing) check(s *machine.Settings) error {
	if m.Body == "" {
		return rules.Refuse(ErrMissingParameter, "The request must contain the parameter MessageBody.")
	}
	if n := m.size(); n > s.MaxBytes {
		return rules.Refuse(ErrInvalidParameter,
			"One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", s.MaxBytes)
	}
	if at := rules.BadCharacter(m.Body); at >= 0 {
		return rules.Refuse(ErrInvalidContents,
			"Invalid binary character '#x%X' was found in the message body, the set of allowed characters "+
				"is %s.", rules.CharacterAt(m.Body, at), rules.AllowedCharacters)
	}
	if m.Delay != nil && (*m.Delay < 0 || *m.Delay > MaxDelay) {
		return rules.Outside("DelaySeconds", int64(*m.Delay/time.Second), "DelaySeconds must be >= 0 and <= 900.")
	}
	if err := rules.CheckToken("MessageGroupId", m.GroupID); err != nil {
		return err
	}
	if err := m.checkKind(s); err != nil {
		return err
	}
	if len(m.Trace) > MaxTraceBytes || rules.BadCharacter(m.Trace) >= 0 {
		return rules.Outside("AWSTraceHeader", rules.Clip(m.Trace), "It must be at most 1024 bytes of text.")
	}
	if len(m.Attributes) > MaxAttributes {
		return rules.Refuse(ErrInvalidParameter, "Number of message attributes [%d] exceeds the allowed maximum [%d].",
			len(m.Attributes), MaxAttributes)
	}
	for name, a := range m.Attributes {
		if err := a.check(name); err != nil {
			return err
		}
	}
	return nil
}

// otherKind is why a parameter does not fit a queue.
const otherKind = "The request include parameter that is not valid for this queue type."

// noDeduplication is why a FIFO queue cannot tell a message from one sent before.
const noDeduplication = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId " +
	"provided explicitly"

// checkKind validates what differs between standard and FIFO queues.
func (m *Outgoing) checkKind(s *machine.Settings) error {
	if !s.Fifo {
		if m.DeduplicationID != "" {
			return rules.Outside("MessageDeduplicationId", rules.Clip(m.DeduplicationID), otherKind)
		}
		return nil
	}
	switch {
	case m.GroupID == "":
		return rules.Refuse(ErrMissingParameter, "The request must contain the parameter MessageGroupId.")
	case m.Delay != nil && *m.Delay != 0:
		return rules.Outside("DelaySeconds", seconds(*m.Delay), otherKind)
	case m.DeduplicationID == "" && !s.ContentDedup:
		return rules.Refuse(ErrInvalidParameter, noDeduplication)
	}
	return rules.CheckToken("MessageDeduplicationId", m.DeduplicationID)
}

// deduplicationID is what the message is known by: nothing on a standard queue.
func (m *Outgoing) deduplicationID(s *machine.Settings) string {
	if !s.Fifo || m.DeduplicationID != "" {
		return m.DeduplicationID
	}
	sum := sha256.Sum256([]byte(m.Body))
	return hex.EncodeToString(sum[:])
}

func (a Attribute) check(name string) error {
	if err := rules.CheckAttributeName(name); err != nil {
		return err
	}
	base, _, _ := strings.Cut(a.Type, ".")
	switch {
	case a.Type == "":
		return rules.Refuse(ErrInvalidParameter,
			"The message (user) attribute '%s' must contain a non-empty message attribute type.", name)
	case len(a.Type) > rules.MaxAttributeType:
		return rules.Refuse(ErrInvalidParameter, "Message (user) attribute type must be shorter than %d bytes.",
			rules.MaxAttributeType)
	case base != "String" && base != "Number" && base != "Binary":
		return rules.Refuse(ErrInvalidParameter,
			"The type of message (user) attribute '%s' is invalid. You must use only the following supported "+
				"type prefixes: Binary, Number, String.", name)
	case len(a.Value) == 0:
		return rules.Refuse(ErrInvalidParameter,
			"Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, a.Type)
	}
	if base == "Binary" {
		return nil
	}
	if at := rules.BadCharacter(string(a.Value)); at >= 0 {
		return rules.Refuse(ErrInvalidParameter,
			"Invalid binary character '#x%X' was found in the message (user) attribute '%s', the set of allowed "+
				"characters is %s.", rules.CharacterAt(string(a.Value), at), name, rules.AllowedCharacters)
	}
	if base == "Number" && !rules.IsNumber(string(a.Value)) {
		return rules.Refuse(ErrInvalidParameter, "Can't cast the value of message (user) attribute '%s' to a number.",
			name)
	}
	return nil
}

func checkReceive(o ReceiveOptions, fifo bool) error {
	if o.Attempt != "" && !fifo {
		return rules.Outside("ReceiveRequestAttemptId", rules.Clip(o.Attempt), otherKind)
	}
	if err := rules.CheckToken("ReceiveRequestAttemptId", o.Attempt); err != nil {
		return err
	}
	if o.Max < 0 || o.Max > MaxBatch {
		return rules.Outside("MaxNumberOfMessages", o.Max, "Must be between 1 and 10, if provided.")
	}
	if o.Wait != nil && (*o.Wait < 0 || *o.Wait > MaxWait) {
		return rules.Outside("WaitTimeSeconds", seconds(*o.Wait), "Must be >= 0 and <= 20, if provided.")
	}
	if o.Visibility != nil {
		return checkVisibility(*o.Visibility, "Must be >= 0 and <= 43200, if provided.")
	}
	return nil
}

func checkVisibility(d time.Duration, reason string) error {
	if d < 0 || d > MaxVisibility {
		return rules.Outside("VisibilityTimeout", seconds(d), reason)
	}
	return nil
}

// seconds shows a duration as the protocol does, rounded away from zero.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	switch rest := d % time.Second; {
	case rest > 0:
		s++
	case rest < 0:
		s--
	}
	return s
}

// checkBatch validates the number of messages in a call.
func checkBatch(n int) error {
	switch {
	case n == 0:
		return rules.Refuse(ErrEmptyBatch, "There should be at least one entry in the request.")
	case n > MaxBatch:
		return rules.Refuse(ErrTooManyEntries, "Maximum number of entries per request are %d. You have sent %d.",
			MaxBatch, n)
	}
	return nil
}
