package queue

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// settings are the parsed attributes of a queue; times in milliseconds.
type settings struct {
	visibility, delay, retention, wait int64
	maxBytes                           int
	redrive                            *redrive
	allow                              redriveAllow
}

type redrive struct {
	target string // queue name
	max    int
}

type redriveAllow struct {
	permission string   // allowAll, denyAll or byQueue
	sources    []string // queue names
}

// The defaults of SQS, also for a queue file that lacks an attribute.
var defaultAttributes = map[string]string{
	"VisibilityTimeout":             "30",
	"DelaySeconds":                  "0",
	"MaximumMessageSize":            "1048576",
	"MessageRetentionPeriod":        "345600",
	"ReceiveMessageWaitTimeSeconds": "0",
}

// numeric attributes with their least and greatest values.
var numericAttributes = map[string][2]int64{
	"VisibilityTimeout":             {0, 43_200},
	"DelaySeconds":                  {0, 900},
	"MaximumMessageSize":            {1_024, MaxBytes},
	"MessageRetentionPeriod":        {60, 1_209_600},
	"ReceiveMessageWaitTimeSeconds": {0, 20},
	"KmsDataKeyReusePeriodSeconds":  {60, 86_400},
}

// maxAttributeBytes bounds the value of an attribute that is a document.
const maxAttributeBytes = 8_192

// checkAttributes validates the attributes given for a queue and returns them
// in normal form. An empty RedrivePolicy or RedriveAllowPolicy stays, as a
// request to remove it.
func checkAttributes(given map[string]string) (map[string]string, error) {
	normal := make(map[string]string, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, err := checkAttribute(name, given[name])
		if err != nil {
			return nil, err
		}
		normal[name] = value
	}
	return normal, nil
}

func checkAttribute(name, value string) (string, error) {
	if bounds, ok := numericAttributes[name]; ok {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < bounds[0] || n > bounds[1] {
			return "", refuse(ErrInvalidAttributeValue, "Invalid value for the parameter %s: found %q, allowed are whole numbers from %d to %d.", name, clip(value), bounds[0], bounds[1])
		}
		return strconv.FormatInt(n, 10), nil
	}
	if len(value) > maxAttributeBytes {
		return "", refuse(ErrInvalidAttributeValue, "Invalid value for the parameter %s: found %d bytes, allowed are %d.", name, len(value), maxAttributeBytes)
	}
	switch name {
	case "RedrivePolicy":
		return normalRedrive(value)
	case "RedriveAllowPolicy":
		return normalRedriveAllow(value)
	case "Policy", "KmsMasterKeyId":
		return value, nil // kept and shown; access is not decided here
	case "SqsManagedSseEnabled":
		if value != "true" && value != "false" {
			return "", refuse(ErrInvalidAttributeValue, "Invalid value for the parameter %s: found %q, allowed are true and false.", name, clip(value))
		}
		return value, nil
	case "FifoQueue":
		if value == "true" {
			return "", refuse(ErrUnsupported, "FIFO queues come with a later version; create a standard queue.")
		}
	case "DeduplicationScope", "FifoThroughputLimit":
		return "", refuse(ErrInvalidAttributeName, "You can specify the %s only when FifoQueue is set to true.", name)
	}
	return "", refuse(ErrInvalidAttributeName, "Unknown Attribute %s.", clip(name))
}

// parseSettings reads normal attributes.
func parseSettings(attributes map[string]string) (settings, error) {
	normal, err := checkAttributes(attributes)
	if err != nil {
		return settings{}, err
	}
	number := func(name string) int64 {
		value, ok := normal[name]
		if !ok {
			value = defaultAttributes[name]
		}
		n, _ := strconv.ParseInt(value, 10, 64) // checked above
		return n
	}
	s := settings{
		visibility: 1000 * number("VisibilityTimeout"),
		delay:      1000 * number("DelaySeconds"),
		retention:  1000 * number("MessageRetentionPeriod"),
		wait:       1000 * number("ReceiveMessageWaitTimeSeconds"),
		maxBytes:   int(number("MaximumMessageSize")),
		allow:      redriveAllow{permission: "allowAll"},
	}
	if p := normal["RedrivePolicy"]; p != "" {
		doc, err := readRedrive(p)
		if err != nil {
			return settings{}, err
		}
		s.redrive = &redrive{target: lastPart(doc.Target), max: int(doc.Max)}
	}
	if p := normal["RedriveAllowPolicy"]; p != "" {
		doc, err := readRedriveAllow(p)
		if err != nil {
			return settings{}, err
		}
		s.allow.permission = doc.Permission
		for _, arn := range doc.Sources {
			s.allow.sources = append(s.allow.sources, lastPart(arn))
		}
	}
	return s, nil
}

// redriveDocument is the RedrivePolicy attribute.
type redriveDocument struct {
	Target string     `json:"deadLetterTargetArn"`
	Max    looseCount `json:"maxReceiveCount"`
}

// looseCount reads a number given as a number or as a string.
type looseCount int

// UnmarshalJSON reads 3 and "3" alike.
func (c *looseCount) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(bytes.Trim(b, `"`)))
	*c = looseCount(n)
	return err
}

func readRedrive(value string) (redriveDocument, error) {
	doc := redriveDocument{Max: 10}
	if err := json.Unmarshal([]byte(value), &doc); err != nil {
		return doc, refuse(ErrInvalidAttributeValue, "Value %s for parameter RedrivePolicy is invalid. Reason: %v.", clip(value), err)
	}
	if doc.Max < 1 || doc.Max > 1000 {
		return doc, refuse(ErrInvalidAttributeValue, "Value %s for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: %d, valid values are from 1 to 1000 both inclusive.", clip(value), doc.Max)
	}
	if !strings.HasPrefix(doc.Target, "arn:") || checkName(lastPart(doc.Target)) != nil {
		return doc, refuse(ErrInvalidAttributeValue, "Value %s for parameter RedrivePolicy is invalid. Reason: deadLetterTargetArn must be the ARN of a queue.", clip(value))
	}
	return doc, nil
}

func normalRedrive(value string) (string, error) {
	if isEmptyDocument(value) {
		return "", nil
	}
	doc, err := readRedrive(value)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(doc)
	return string(b), err
}

// redriveAllowDocument is the RedriveAllowPolicy attribute.
type redriveAllowDocument struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns,omitempty"`
}

func readRedriveAllow(value string) (redriveAllowDocument, error) {
	var doc redriveAllowDocument
	invalid := func(reason any) (redriveAllowDocument, error) {
		return doc, refuse(ErrInvalidAttributeValue, "Value %s for parameter RedriveAllowPolicy is invalid. Reason: %v.", clip(value), reason)
	}
	if err := json.Unmarshal([]byte(value), &doc); err != nil {
		return invalid(err)
	}
	switch doc.Permission {
	case "byQueue":
		if len(doc.Sources) < 1 || len(doc.Sources) > 10 {
			return invalid("byQueue needs 1 to 10 sourceQueueArns")
		}
	case "allowAll", "denyAll":
		if len(doc.Sources) > 0 {
			return invalid("sourceQueueArns are for byQueue only")
		}
	default:
		return invalid("redrivePermission must be allowAll, denyAll or byQueue")
	}
	return doc, nil
}

func normalRedriveAllow(value string) (string, error) {
	if isEmptyDocument(value) {
		return "", nil
	}
	doc, err := readRedriveAllow(value)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(doc)
	return string(b), err
}

func isEmptyDocument(value string) bool {
	value = strings.TrimSpace(value)
	return value == "" || strings.TrimSpace(strings.Trim(value, "{}")) == ""
}

// lastPart is the queue name in an ARN.
func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

// clip bounds foreign text in a message.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
