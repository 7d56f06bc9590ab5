// Checks of messages and parameters of calls. Texts of refusals are those of AWS, as clients compare
// them; do not improve their wording. The state machine relies on these checks and does not repeat
// them.

package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// size is the number of bytes that count towards the limits: body, and name, type and value of each
// user attribute.
func (m *Outgoing) size() int {
	n := len(m.Body)
	for name, a := range m.Attributes {
		n += len(name) + len(a.Type) + len(a.Value)
	}
	return n
}

// check validates one message for a queue with settings s. The order of the checks decides which error
// a message with several faults gets.
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

// otherKind is AWS's reason when a parameter does not fit the type of the queue.
const otherKind = "The request include parameter that is not valid for this queue type."

// noDeduplication is AWS's reason when a FIFO message has no deduplication id.
const noDeduplication = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId " +
	"provided explicitly"

// checkKind validates the parameters that differ between standard and FIFO queues.
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

// deduplicationID returns the id by which duplicates are found: the given one, or the SHA-256 of the
// body on a FIFO queue. It is empty on a standard queue.
func (m *Outgoing) deduplicationID(s *machine.Settings) string {
	if !s.Fifo || m.DeduplicationID != "" {
		return m.DeduplicationID
	}
	sum := sha256.Sum256([]byte(m.Body))
	return hex.EncodeToString(sum[:])
}

// check validates a user attribute with the given name.
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

// checkReceive validates the options of a receive.
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

// checkVisibility returns an error with the given reason unless d is 0 to MaxVisibility. The reason
// differs between the calls.
func checkVisibility(d time.Duration, reason string) error {
	if d < 0 || d > MaxVisibility {
		return rules.Outside("VisibilityTimeout", seconds(d), reason)
	}
	return nil
}

// seconds returns d in whole seconds, rounded away from zero. Rounding towards zero would show a
// refused 900.5 s as an allowed 900.
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
