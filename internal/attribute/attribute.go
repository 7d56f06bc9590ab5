// Package attribute makes and reads the attributes of DynamoDB items, for the packages that keep something in a table.
//
//	element := attribute.Element{"name": attribute.Text("host-a"), "beat": attribute.Number(7)}
//	n := attribute.NumbersOf(element)
//	beat, swept := n.Required("beat"), n.Optional("swept")
//	err := n.Err()
//
// People and other programs can edit a table, so a number that cannot be read is an error and never 0.
package attribute

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Element is a DynamoDB item: its attributes by their names.
type Element = map[string]types.AttributeValue

// Text returns a text attribute.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns a number attribute.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// TextOf returns the value of a text attribute, "" for anything else.
func TextOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// BytesOf returns the value of a binary attribute, nil for anything else.
func BytesOf(v types.AttributeValue) []byte {
	if b, ok := v.(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

// NumberOf returns the value of a number attribute. Anything but a whole number of 64 bits is an error.
func NumberOf(v types.AttributeValue) (int64, error) {
	switch v := v.(type) {
	case nil:
		return 0, errors.New("found nothing, want a whole number")
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("found the number %.40q, want a whole number of 64 bits", v.Value)
		}
		return n, nil
	case *types.AttributeValueMemberS:
		return 0, fmt.Errorf("found the text %.40q, want a whole number", v.Value)
	}
	return 0, errors.New("found another type, want a whole number")
}

// Numbers reads the number attributes of an item and keeps what was wrong with them, so that a caller asks once.
type Numbers struct {
	element Element
	errs    []error
}

// NumbersOf returns the numbers of an item.
func NumbersOf(element Element) *Numbers { return &Numbers{element: element} }

// Required returns the attribute with the name. It is 0, and [Numbers.Err] says why, if that is no number.
func (n *Numbers) Required(name string) int64 {
	i, err := NumberOf(n.element[name])
	if err != nil {
		n.errs = append(n.errs, fmt.Errorf("its attribute %s: %w", name, err))
	}
	return i
}

// Optional is [Numbers.Required] for an attribute that may be absent, which is 0.
func (n *Numbers) Optional(name string) int64 {
	if _, there := n.element[name]; !there {
		return 0
	}
	return n.Required(name)
}

// Err returns what was wrong with the attributes that were asked for; nil if nothing was.
func (n *Numbers) Err() error { return errors.Join(n.errs...) }
