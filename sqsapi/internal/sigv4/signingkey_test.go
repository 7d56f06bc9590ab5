package sigv4

import (
	"bytes"
	"sync/atomic"
	"testing"
)

// TestTheKeptSigningKeyIsUsedForNothingElse than its secret, day and region.
func TestTheKeptSigningKeyIsUsedForNothingElse(t *testing.T) {
	var last atomic.Pointer[signingKey]
	base := Claim{secret: "s", day: "20300101", Region: "eu-west-1"}
	for _, other := range []Claim{
		base,
		{secret: "t", day: base.day, Region: base.Region},
		{secret: base.secret, day: "20300102", Region: base.Region},
		{secret: base.secret, day: base.day, Region: "us-east-1"},
	} {
		for _, c := range []Claim{base, other, base} {
			if got, want := c.key(&last), c.key(new(atomic.Pointer[signingKey])); !bytes.Equal(got, want) {
				t.Errorf("the key of %+v is that of another claim", c)
			}
		}
	}
}
