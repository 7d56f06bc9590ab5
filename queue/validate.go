package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-scale/muster/queue/internal/machine"
)

const (
	maxName           = 80
	maxAttributeName  = 256
	maxAttributeType  = 256
	maxToken          = 128
	maxNumberDigits   = 38
	maxTags           = 50
	maxTagKey         = 128
	maxTagValue       = 256
	maxNumberTextSize = 256
)

const suffixFIFO = ".fifo"

// isFIFO says whether a queue of that name is a FIFO queue.
func isFIFO(name string) bool { return strings.HasSuffix(name, suffixFIFO) }

// checkName says whether name may be the name of a queue, with or without a scope.
func checkName(name string, fifo bool) error {
	region, account, name := CutScope(name)
	if region+account != "" && !ValidScope(region, account) {
		return refuse(ErrInvalidParameter,
			"Queue name %q is invalid: %q is no region, or %q no account of 12 digits.", clip(name), clip(region), clip(account))
	}
	if name == "" {
		return refuse(ErrInvalidParameter, "Queue name cannot be empty")
	}
	if fifo {
		stem, ok := strings.CutSuffix(name, suffixFIFO)
		if !ok || stem == "" || len(name) > maxName || !consists(stem, "_-") {
			return refuse(ErrInvalidParameter,
				"The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must "+
					"end with .fifo suffix and be 1 to 80 in length.")
		}
		return nil
	}
	if len(name) > maxName || !consists(name, "_-") {
		return refuse(ErrInvalidParameter,
			"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
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
func (m *Outgoing) check(s *machine.Settings) error {
	if m.Body == "" {
		return refuse(ErrMissingParameter, "The request must contain the parameter MessageBody.")
	}
	if n := m.size(); n > s.MaxBytes {
		return refuse(ErrInvalidParameter, "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", s.MaxBytes)
	}
	if at := badCharacter(m.Body); at >= 0 {
		return refuse(ErrInvalidContents,
			"Invalid binary character '#x%X' was found in the message body, the set of allowed characters "+
				"is %s.", characterAt(m.Body, at), allowedCharacters)
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
	if len(m.Trace) > MaxTraceBytes || badCharacter(m.Trace) >= 0 {
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

// allowedCharacters are those that XML 1.0 allows.
const allowedCharacters = "#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]"

// characterAt is the character of s that begins at a byte; the byte itself where there is none.
func characterAt(s string, at int) rune {
	if r, width := utf8.DecodeRuneInString(s[at:]); width > 1 || r != utf8.RuneError {
		return r
	}
	return rune(s[at])
}

// otherKind is why a parameter does not fit a queue.
const otherKind = "The request include parameter that is not valid for this queue type."

// noDeduplication is why a FIFO queue cannot tell a message from one sent before.
const noDeduplication = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"

// checkKind validates what differs between standard and FIFO queues.
func (m *Outgoing) checkKind(s *machine.Settings) error {
	if !s.Fifo {
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
	case m.DeduplicationID == "" && !s.ContentDedup:
		return refuse(ErrInvalidParameter, noDeduplication)
	}
	return checkToken("MessageDeduplicationId", m.DeduplicationID)
}

// deduplicationID is what the message is known by: nothing on a standard queue.
func (m *Outgoing) deduplicationID(s *machine.Settings) string {
	if !s.Fifo || m.DeduplicationID != "" {
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

// checkAttributeName validates the name of a message attribute. Letters and digits
// may be of any alphabet, as AWS has it, though its documentation says otherwise.
func checkAttributeName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return refuse(ErrInvalidParameter, "The request must contain non-empty message (user) attribute names.")
	case len(name) > maxAttributeName:
		return refuse(ErrInvalidParameter, "Message (user) attribute name must be shorter than %d bytes.", maxAttributeName)
	case strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
		return refuse(ErrInvalidParameter,
			"You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are "+
				"reserved for internal use.")
	case strings.HasPrefix(name, "."):
		return refuse(ErrInvalidParameter, "Message (user) attribute name must not begin with character '.'.")
	case strings.HasSuffix(name, "."):
		return refuse(ErrInvalidParameter, "Message (user) attribute name must not end with character '.'.")
	case strings.Contains(name, ".."):
		return refuse(ErrInvalidParameter, "Message (user) attribute name must not have successive '.' characters.")
	case strings.ContainsFunc(name, notOfAttributeName):
		return refuse(ErrInvalidParameter,
			"Message (user) attribute name can only contain letters, digits, periods, hyphens and "+
				"underscores: '%s'.", clip(name))
	}
	return nil
}

func notOfAttributeName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.'
}

func (a Attribute) check(name string) error {
	if err := checkAttributeName(name); err != nil {
		return err
	}
	base, _, _ := strings.Cut(a.Type, ".")
	switch {
	case a.Type == "":
		return refuse(ErrInvalidParameter,
			"The message (user) attribute '%s' must contain a non-empty message attribute type.", name)
	case len(a.Type) > maxAttributeType:
		return refuse(ErrInvalidParameter, "Message (user) attribute type must be shorter than %d bytes.", maxAttributeType)
	case base != "String" && base != "Number" && base != "Binary":
		return refuse(ErrInvalidParameter,
			"The type of message (user) attribute '%s' is invalid. You must use only the following supported "+
				"type prefixes: Binary, Number, String.", name)
	case len(a.Value) == 0:
		return refuse(ErrInvalidParameter,
			"Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, a.Type)
	}
	if base == "Binary" {
		return nil
	}
	if at := badCharacter(string(a.Value)); at >= 0 {
		return refuse(ErrInvalidParameter,
			"Invalid binary character '#x%X' was found in the message (user) attribute '%s', the set of allowed "+
				"characters is %s.", characterAt(string(a.Value), at), name, allowedCharacters)
	}
	if base == "Number" && !isNumber(string(a.Value)) {
		return refuse(ErrInvalidParameter, "Can't cast the value of message (user) attribute '%s' to a number.", name)
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
func checkTags(name string, tags map[string]string) error {
	if len(tags) > maxTags {
		_, _, name = CutScope(name)
		return refuse(ErrInvalidParameter, "Too many tags added for queue %s.", clip(name))
	}
	for key, value := range tags {
		if n := utf8.RuneCountInString(key); n < 1 || n > maxTagKey {
			return refuse(ErrInvalidParameter, "Tag keys must be between 1 and %d characters in length.", maxTagKey)
		}
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			return refuse(ErrInvalidParameter, "Tag key %q is invalid: it must not start with aws:.", clip(key))
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
		return checkVisibility(*o.Visibility, "Must be >= 0 and <= 43200, if provided.")
	}
	return nil
}

func checkVisibility(d time.Duration, reason string) error {
	if d < 0 || d > MaxVisibility {
		return outside("VisibilityTimeout", seconds(d), reason)
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
