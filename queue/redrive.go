package queue

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

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
	if !strings.HasPrefix(doc.Target, "arn:") || checkName(lastPart(doc.Target), isFIFO(doc.Target)) != nil {
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
