package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// defaultAttributes are the defaults of SQS. They also apply to a queue file that lacks an attribute.
// Times are in seconds, MaximumMessageSize is in bytes.
var defaultAttributes = map[string]string{
	"VisibilityTimeout":             "30",
	"DelaySeconds":                  "0",
	"MaximumMessageSize":            "1048576",
	"MessageRetentionPeriod":        "345600",
	"ReceiveMessageWaitTimeSeconds": "0",
}

// defaultFIFOAttributes are the further defaults of a FIFO queue.
var defaultFIFOAttributes = map[string]string{
	"FifoQueue":                 "true",
	"ContentBasedDeduplication": "false",
	"DeduplicationScope":        "queue",
	"FifoThroughputLimit":       "perQueue",
}

// DefaultsOf returns the default attributes of a queue; the caller may change the map.
func DefaultsOf(fifo bool) map[string]string {
	out := maps.Clone(defaultAttributes)
	if fifo {
		maps.Copy(out, defaultFIFOAttributes)
	}
	return out
}

// EncryptionDefaults returns the encryption attributes that AWS shows for a queue with the attributes
// have. Nothing is encrypted here; they keep tools that read them working.
func EncryptionDefaults(have map[string]string) map[string]string {
	if have["KmsMasterKeyId"] != "" {
		return map[string]string{"SqsManagedSseEnabled": "false", "KmsDataKeyReusePeriodSeconds": DefaultReusePeriod}
	}
	return map[string]string{"SqsManagedSseEnabled": "true"}
}

// DefaultReusePeriod is the default KmsDataKeyReusePeriodSeconds.
const DefaultReusePeriod = "300"

// booleans are the values of boolean attributes, in lower case; requests may use any case.
var booleans = []string{"true", "false"}

// choices are the attributes with a fixed set of values. Those in defaultFIFOAttributes are for FIFO
// queues only.
var choices = map[string][]string{
	"SqsManagedSseEnabled":      booleans,
	"FifoQueue":                 {"true"},
	"ContentBasedDeduplication": booleans,
	"DeduplicationScope":        {"queue", "messageGroup"},
	"FifoThroughputLimit":       {"perQueue", "perMessageGroupId"},
}

// numericAttributes are the numeric attributes with their least and greatest values.
var numericAttributes = map[string][2]int64{
	"VisibilityTimeout":             {0, 43_200},
	"DelaySeconds":                  {0, 900},
	"MaximumMessageSize":            {1_024, maxMessageBytes},
	"MessageRetentionPeriod":        {60, 1_209_600},
	"ReceiveMessageWaitTimeSeconds": {0, 20},
	"KmsDataKeyReusePeriodSeconds":  {60, 86_400},
}

// maxAttributeBytes bounds the value of an attribute that is a document.
const maxAttributeBytes = 8_192

// CheckAttributes validates the attributes given for a queue and returns them in normal form. An empty
// document becomes an empty text, the request to remove it. The names are checked in order, so the same
// request gets the same error.
func CheckAttributes(given map[string]string, fifo bool) (map[string]string, error) {
	normal := make(map[string]string, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, err := CheckAttribute(name, given[name], fifo)
		if err != nil {
			return nil, err
		}
		normal[name] = value
	}
	return normal, nil
}

// CheckAttribute validates one attribute and returns its normal form.
func CheckAttribute(name, value string, fifo bool) (string, error) {
	if bounds, ok := numericAttributes[name]; ok {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < bounds[0] || n > bounds[1] {
			return "", invalidValue(name)
		}
		return strconv.FormatInt(n, 10), nil
	}
	if len(value) > maxAttributeBytes {
		return "", Refuse(ErrInvalidAttributeValue,
			"Invalid value for the parameter %s. Reason: Found %d bytes, allowed are %d.", name, len(value),
			maxAttributeBytes)
	}
	switch name {
	case "RedrivePolicy":
		return normalRedrive(value)
	case "RedriveAllowPolicy":
		return normalRedriveAllow(value)
	case "Policy":
		return normalPolicy(value)
	case "KmsMasterKeyId":
		return value, nil // kept and shown; nothing is encrypted
	}
	return checkChoice(name, value, fifo)
}

// checkChoice validates an attribute with a fixed set of values, and refuses unknown attributes.
func checkChoice(name, value string, fifo bool) (string, error) {
	allowed, ok := choices[name]
	if _, ours := defaultFIFOAttributes[name]; !ok || ours && !fifo {
		if name == "DeduplicationScope" || name == "FifoThroughputLimit" {
			return "", Refuse(ErrInvalidAttributeName, "You can specify the %s only when FifoQueue is set to true.",
				name)
		}
		return "", Refuse(ErrInvalidAttributeName, "Unknown Attribute %s.", Clip(name))
	}
	if slices.Contains(booleans, allowed[0]) {
		value = strings.ToLower(value)
	}
	if !slices.Contains(allowed, value) {
		return "", invalidValue(name)
	}
	return value, nil
}

// IsTrue returns the value of a boolean attribute.
func IsTrue(value string) bool { return strings.EqualFold(value, "true") }

// invalidValue is the refusal of a value; AWS gives no reason for most attributes.
func invalidValue(name string) error {
	return Refuse(ErrInvalidAttributeValue, "Invalid value for the parameter %s.", name)
}

// normalPolicy accepts a JSON object. The policy is kept and shown only; access is decided by the key
// pair alone.
func normalPolicy(value string) (string, error) {
	if strings.TrimSpace(value) == "" {
		return "", nil
	}
	var document map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &document); err != nil {
		return "", invalidValue("Policy")
	}
	return value, nil
}

// checkTogether refuses combinations of attributes.
func checkTogether(all map[string]string) error {
	if all["FifoThroughputLimit"] == "perMessageGroupId" && all["DeduplicationScope"] != "messageGroup" {
		return Refuse(ErrInvalidAttributeValue,
			"The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup")
	}
	if all["KmsMasterKeyId"] != "" && all["SqsManagedSseEnabled"] == "true" {
		return Refuse(ErrInvalidAttributeValue,
			"You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS "+
				"SSE.")
	}
	return nil
}

// ParseSettings returns the settings that the attributes of a queue mean, with defaults for missing
// ones. It is also used on the attributes of a file, so it validates again.
func ParseSettings(attributes map[string]string) (machine.Settings, error) {
	fifo := IsTrue(attributes["FifoQueue"])
	normal, err := CheckAttributes(attributes, fifo)
	if err == nil {
		err = checkTogether(normal)
	}
	if err != nil {
		return machine.Settings{}, err
	}
	number := func(name string) int64 {
		value, ok := normal[name]
		if !ok {
			value = defaultAttributes[name]
		}
		n, _ := strconv.ParseInt(value, 10, 64) // checked above
		return n
	}
	s := machine.Settings{
		Visibility: 1000 * number("VisibilityTimeout"),
		Delay:      1000 * number("DelaySeconds"),
		Retention:  1000 * number("MessageRetentionPeriod"),
		Wait:       1000 * number("ReceiveMessageWaitTimeSeconds"),
		MaxBytes:   int(number("MaximumMessageSize")),
		Allow:      machine.RedriveAllow{Permission: "allowAll"},

		Fifo:         fifo,
		ContentDedup: normal["ContentBasedDeduplication"] == "true",
		DedupByGroup: normal["DeduplicationScope"] == "messageGroup",
	}
	if p := normal["RedrivePolicy"]; p != "" {
		doc, err := readRedrive(p)
		if err != nil {
			return machine.Settings{}, err
		}
		s.Redrive = &machine.Redrive{Target: lastPart(doc.Target), Max: int(doc.Max)}
	}
	if p := normal["RedriveAllowPolicy"]; p != "" {
		doc, err := readRedriveAllow(p)
		if err != nil {
			return machine.Settings{}, err
		}
		s.Allow.Permission = doc.Permission
		for _, arn := range doc.Sources {
			s.Allow.Sources = append(s.Allow.Sources, lastPart(arn))
		}
	}
	return s, nil
}

// lastPart returns the queue name in an ARN.
func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

// Clip shortens text of a request for use in a message. AWS repeats a value as it was given, so the
// bound of 1024 bytes is above the length of any valid parameter.
func Clip(s string) string {
	const most = 1024
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// maxMessageBytes is the largest MaximumMessageSize, which is that of any message.
const maxMessageBytes = 1 << 20
