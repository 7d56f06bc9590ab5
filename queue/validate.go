package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxName           = 80
	maxAttributeName  = 256
	maxAttributeType  = 256
	maxToken          = 128
	maxTrace          = 1_024
	maxNumberDigits   = 38
	maxTags           = 50
	maxTagKey         = 128
	maxTagValue       = 256
	maxNumberTextSize = 256
)

const suffixFIFO = ".fifo"

// isFIFO says whether a queue of that name is a FIFO queue.
func isFIFO(name string) bool { return strings.HasSuffix(name, suffixFIFO) }

// checkName says whether name may be the name of a queue.
func checkName(name string, fifo bool) error {
	if fifo {
		stem, ok := strings.CutSuffix(name, suffixFIFO)
		if !ok || stem == "" || len(name) > maxName || !consists(stem, "_-") {
			return refuse(ErrInvalidParameter, "Queue name %q is invalid: the name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.", clip(name))
		}
		return nil
	}
	if len(name) < 1 || len(name) > maxName || !consists(name, "_-") {
		return refuse(ErrInvalidParameter, "Queue name %q is invalid: it can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.", clip(name))
	}
	return nil
}

// consists says whether s has only ASCII letters, digits and those of extra.
func consists(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// size is what counts towards the limits: the body and the user attributes.
func (m *Outgoing) size() int {
	n := len(m.Body)
	for name, a := range m.Attributes {
		n += len(name) + len(a.Type) + len(a.Value)
	}
	return n
}

// check validates one message for a queue with settings s.
func (m *Outgoing) check(s *settings) error {
	if m.Body == "" {
		return refuse(ErrMissingParameter, "The request must contain the parameter MessageBody.")
	}
	if n := m.size(); n > s.maxBytes {
		return refuse(ErrInvalidParameter, "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", s.maxBytes)
	}
	if at := badCharacter(m.Body); at >= 0 {
		return refuse(ErrInvalidContents, "Invalid characters found in the message body at byte %d. Valid are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.", at)
	}
	if m.Delay != nil && (*m.Delay < 0 || *m.Delay > MaxDelay) {
		return outside("DelaySeconds", int64(*m.Delay/time.Second), "DelaySeconds must be >= 0 and <= 900.")
	}
	if err := checkToken("MessageGroupId", m.GroupID); err != nil {
		return err
	}
	if err := m.checkKind(s); err != nil {
		return err
	}
	if len(m.Trace) > maxTrace || badCharacter(m.Trace) >= 0 {
		return outside("AWSTraceHeader", clip(m.Trace), "It must be at most 1024 bytes of text.")
	}
	if len(m.Attributes) > MaxAttributes {
		return refuse(ErrInvalidParameter, "Number of message attributes [%d] exceeds the allowed maximum [%d].", len(m.Attributes), MaxAttributes)
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

// checkKind validates what differs between standard and FIFO queues.
func (m *Outgoing) checkKind(s *settings) error {
	if !s.fifo {
		if m.DeduplicationID != "" {
			return outside("MessageDeduplicationId", clip(m.DeduplicationID), otherKind)
		}
		return nil
	}
	switch {
	case m.GroupID == "":
		return refuse(ErrMissingParameter, "The request must contain the parameter MessageGroupId.")
	case m.Delay != nil && *m.Delay != 0:
		return outside("DelaySeconds", seconds(*m.Delay), otherKind)
	case m.DeduplicationID == "" && !s.contentDedup:
		return refuse(ErrInvalidParameter, "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	}
	return checkToken("MessageDeduplicationId", m.DeduplicationID)
}

// deduplicationID is what the message is known by: nothing on a standard queue.
func (m *Outgoing) deduplicationID(s *settings) string {
	if !s.fifo || m.DeduplicationID != "" {
		return m.DeduplicationID
	}
	sum := sha256.Sum256([]byte(m.Body))
	return hex.EncodeToString(sum[:])
}

// checkToken validates a group, deduplication or attempt id, which may be absent.
func checkToken(parameter, id string) error {
	if id != "" && (len(id) > maxToken || !consists(id, punctuation)) {
		return outside(parameter, clip(id), parameter+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
	}
	return nil
}

// badCharacter is the position of the first character XML 1.0 does not allow, or -1.
func badCharacter(s string) int {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return badRune(s, i)
		}
	}
	return -1
}

func badRune(s string, from int) int {
	for i, r := range s[from:] {
		switch {
		case r == utf8.RuneError:
			if _, width := utf8.DecodeRuneInString(s[from+i:]); width == 1 {
				return from + i
			}
		case r == 0xFFFE, r == 0xFFFF:
			return from + i
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return from + i
		}
	}
	return -1
}

func (a Attribute) check(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "" || len(name) > maxAttributeName:
		return refuse(ErrInvalidParameter, "Message attribute name %q must be 1 to %d characters long.", clip(name), maxAttributeName)
	case !consists(name, "_-."), strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
		return refuse(ErrInvalidParameter, "Message attribute name %q can only include alphanumeric characters, underscores, hyphens and single inner dots.", clip(name))
	case strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
		return refuse(ErrInvalidParameter, "Message attribute name %q must not start with AWS. or Amazon.", clip(name))
	}
	base, _, _ := strings.Cut(a.Type, ".")
	switch {
	case a.Type == "":
		return refuse(ErrInvalidParameter, "The message attribute '%s' must contain a non-empty message attribute type.", name)
	case len(a.Type) > maxAttributeType, base != "String" && base != "Number" && base != "Binary":
		return refuse(ErrInvalidParameter, "The message attribute '%s' has an invalid message attribute type %q, the set of supported type prefixes is Binary, Number, and String.", name, clip(a.Type))
	case len(a.Value) == 0:
		return refuse(ErrInvalidParameter, "The message attribute '%s' must contain a non-empty value of type %s.", name, base)
	case base != "Binary" && badCharacter(string(a.Value)) >= 0:
		return refuse(ErrInvalidParameter, "The message attribute '%s' holds characters that are not allowed.", name)
	case base == "Number" && !isNumber(string(a.Value)):
		return refuse(ErrInvalidParameter, "Could not cast message attribute '%s' value to number.", name)
	}
	return nil
}

// isNumber accepts a decimal number of at most 38 significant digits from
// 10^-128 to 10^126 in size, or zero.
func isNumber(s string) bool {
	if len(s) > maxNumberTextSize {
		return false
	}
	s = strings.TrimLeft(s, " ")
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	mantissa, exponent, ok := cutExponent(s)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !ok || whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	magnitude := exponent + len(digits) - len(fraction) - 1
	significant := strings.TrimRight(digits, "0")
	return significant == "" || len(significant) <= maxNumberDigits && magnitude >= -128 && magnitude <= 126
}

func cutExponent(s string) (mantissa string, exponent int, ok bool) {
	at := strings.IndexAny(s, "eE")
	if at < 0 {
		return s, 0, true
	}
	text := s[at+1:]
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimLeft(strings.TrimLeft(text, "+-"), "0")
	if len(s[at+1:]) == 0 || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return "", 0, false
	}
	for i := range len(text) {
		exponent = 10*exponent + int(text[i]-'0')
	}
	if negative {
		exponent = -exponent
	}
	return s[:at], exponent, true
}

// checkTags validates all tags of a queue.
func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return refuse(ErrInvalidParameter, "Too many tags: found %d, allowed are %d per queue.", len(tags), maxTags)
	}
	for key, value := range tags {
		if n := utf8.RuneCountInString(key); n < 1 || n > maxTagKey || strings.HasPrefix(strings.ToLower(key), "aws:") {
			return refuse(ErrInvalidParameter, "Tag key %q is invalid: it must be 1 to %d characters and not start with aws:.", clip(key), maxTagKey)
		}
		if utf8.RuneCountInString(value) > maxTagValue {
			return refuse(ErrInvalidParameter, "Tag value of %q is invalid: it must be at most %d characters.", clip(key), maxTagValue)
		}
	}
	return nil
}

func checkReceive(o ReceiveOptions, fifo bool) error {
	if o.Attempt != "" && !fifo {
		return outside("ReceiveRequestAttemptId", clip(o.Attempt), otherKind)
	}
	if err := checkToken("ReceiveRequestAttemptId", o.Attempt); err != nil {
		return err
	}
	if o.Max < 0 || o.Max > MaxBatch {
		return outside("MaxNumberOfMessages", o.Max, "Must be between 1 and 10, if provided.")
	}
	if o.Wait != nil && (*o.Wait < 0 || *o.Wait > MaxWait) {
		return outside("WaitTimeSeconds", seconds(*o.Wait), "Must be >= 0 and <= 20, if provided.")
	}
	if o.Visibility != nil {
		return checkVisibility(*o.Visibility)
	}
	return nil
}

func checkVisibility(d time.Duration) error {
	if d < 0 || d > MaxVisibility {
		return outside("VisibilityTimeout", seconds(d), "Must be between 0 and 43200, if provided.")
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
		return refuse(ErrEmptyBatch, "There should be at least one entry in the request.")
	case n > MaxBatch:
		return refuse(ErrTooManyEntries, "Maximum number of entries per request are %d. You have sent %d.", MaxBatch, n)
	}
	return nil
}
