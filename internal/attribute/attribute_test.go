package attribute_test

import (
	"math"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/internal/attribute"
)

// TestWhatIsNoNumberIsNotZero: a beat that reads as 0 would make a live controller look like a new one.
func TestWhatIsNoNumberIsNotZero(t *testing.T) {
	for want, v := range map[string]types.AttributeValue{
		"found nothing":            nil,
		`found the text "7"`:       attribute.Text("7"),
		`found the number "1.5"`:   &types.AttributeValueMemberN{Value: "1.5"},
		`found the number "1e40"`:  &types.AttributeValueMemberN{Value: "1e40"},
		"found another type":       &types.AttributeValueMemberB{Value: []byte("7")},
		`found the number "` + "9": &types.AttributeValueMemberN{Value: "9223372036854775808"},
	} {
		if n, err := attribute.NumberOf(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: found %d and error %v, want one that says %s", v, n, err, want)
		}
	}
	for _, want := range []int64{0, 7, -1, math.MaxInt64, math.MinInt64} {
		if n, err := attribute.NumberOf(attribute.Number(want)); n != want || err != nil {
			t.Errorf("%d came back as %d, %v", want, n, err)
		}
	}
}

func TestOnlyAnAbsentAttributeMayBeOptional(t *testing.T) {
	n := attribute.NumbersOf(attribute.Element{"beat": attribute.Number(7), "swept": attribute.Text("x")})
	if beat, cursor := n.Required("beat"), n.Optional("cursor"); beat != 7 || cursor != 0 || n.Err() != nil {
		t.Errorf("found %d, %d and error %v", beat, cursor, n.Err())
	}
	n.Optional("swept")
	n.Required("term")
	if err := n.Err(); err == nil || !strings.Contains(err.Error(), `its attribute swept: found the text "x"`) ||
		!strings.Contains(err.Error(), "its attribute term: found nothing") {
		t.Errorf("found error %v", err)
	}
}
