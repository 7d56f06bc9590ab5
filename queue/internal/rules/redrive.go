package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// redriveDocument is the JSON of the RedrivePolicy attribute. Max is 1 to 1000.
type redriveDocument struct {
	Target string     `json:"deadLetterTargetArn"`
	Max    looseCount `json:"maxReceiveCount"`
}

// looseCount is a number that JSON may give as a number or as a string; AWS accepts both.
type looseCount int

// UnmarshalJSON reads 3 and "3" alike.
func (c *looseCount) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(bytes.Trim(b, `"`)))
	*c = looseCount(n)
	return err
}

// readRedrive parses and checks a RedrivePolicy. Without maxReceiveCount it is 10, as at AWS. Whether
// the target exists is checked by package queue.
func readRedrive(value string) (redriveDocument, error) {
	doc := redriveDocument{Max: 10}
	if err := json.Unmarshal([]byte(value), &doc); err != nil {
		return doc, Refuse(ErrInvalidAttributeValue,
			"Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.")
	}
	switch {
	case doc.Max < 1 || doc.Max > 1000:
		reason := fmt.Sprintf("Invalid value for maxReceiveCount: %d, valid values are from 1 to 1000 both inclusive.",
			doc.Max)
		return doc, InvalidRedrive(value, reason)
	case doc.Target == "":
		return doc, InvalidRedrive(value, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	case !strings.HasPrefix(doc.Target, "arn:") || CheckName(lastPart(doc.Target), IsFIFO(doc.Target)) != nil:
		return doc, InvalidRedrive(value, "Dead-letter target ARN should be fully qualified ARN.")
	}
	return doc, nil
}

// InvalidRedrive returns the refusal of a RedrivePolicy that is valid JSON.
func InvalidRedrive(policy, reason string) error {
	return Outside("RedrivePolicy", Clip(policy), reason)
}

// normalRedrive returns a RedrivePolicy in normal form: compact JSON, maxReceiveCount as a number. An
// empty document becomes the empty text, which removes the attribute.
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

// redriveAllowDocument is the JSON of the RedriveAllowPolicy attribute.
type redriveAllowDocument struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns,omitempty"`
}

// readRedriveAllow parses and checks a RedriveAllowPolicy. Only byQueue takes sources, 1 to 10.
func readRedriveAllow(value string) (redriveAllowDocument, error) {
	var doc redriveAllowDocument
	const cannot = "Amazon SQS can't create the redrive allow policy"
	format := Refuse(ErrInvalidAttributeValue,
		"Invalid value for the parameter RedriveAllowPolicy. Reason: "+cannot+", as it’s in an unsupported format.")
	invalid := func(reason string) (redriveAllowDocument, error) {
		return doc, Outside("RedriveAllowPolicy", Clip(value), cannot+". "+reason)
	}
	if err := json.Unmarshal([]byte(value), &doc); err != nil {
		return doc, format
	}
	switch doc.Permission {
	case "byQueue":
		if len(doc.Sources) < 1 {
			return invalid("When you specify the byQueue permission type, you must also specify one or more " +
				"sourceQueueArns values.")
		}
		if len(doc.Sources) > 10 {
			return invalid("The maximum number of source queue ARNs you can specify is 10.")
		}
	case "allowAll", "denyAll":
		if len(doc.Sources) > 0 {
			return invalid("To specify one or more source queue ARNs, you must set redrivePermission to byQueue.")
		}
	default:
		return doc, format
	}
	return doc, nil
}

// normalRedriveAllow returns a RedriveAllowPolicy in normal form, as normalRedrive does.
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

// isEmptyDocument says whether value is empty or an empty JSON object, the two ways to remove a policy.
func isEmptyDocument(value string) bool {
	value = strings.TrimSpace(value)
	return value == "" || strings.TrimSpace(strings.Trim(value, "{}")) == ""
}
