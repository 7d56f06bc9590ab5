package sqsapi

import (
	"bytes"
	"sync/atomic"
	"testing"
)

// TestTheKeptSigningKeyIsUsedForNothingElse than its secret, day and region.
func TestTheKeptSigningKeyIsUsedForNothingElse(t *testing.T) {
	var last atomic.Pointer[signingKey]
	base := claim{secret: "s", day: "20300101", region: "eu-west-1"}
	for _, other := range []claim{
		base,
		{secret: "t", day: base.day, region: base.region},
		{secret: base.secret, day: "20300102", region: base.region},
		{secret: base.secret, day: base.day, region: "us-east-1"},
	} {
		for _, c := range []claim{base, other, base} {
			if got, want := c.key(&last), c.key(new(atomic.Pointer[signingKey])); !bytes.Equal(got, want) {
				t.Errorf("the key of %+v is that of another claim", c)
			}
		}
	}
}
