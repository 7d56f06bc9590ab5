package counts

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAnApproximateCountStaysWithinItsError(t *testing.T) {
	for _, c := range []struct {
		name             string
		n                int
		largest, uniform float64
		want             int
	}{
		{"no error", 100, 0, 0.9, 100},
		{"the middle of the error", 100, 0.2, 0.5, 100},
		{"the least", 100, 0.2, 0, 80},
		{"nearly the most", 100, 0.2, 0.999999, 120},
		{"nothing stays nothing", 0, 1, 0.9, 0},
		{"never below nothing", 3, 1, 0, 0},
	} {
		if got := Roughly(c.n, c.largest, c.uniform); got != c.want {
			t.Errorf("%s: found %d, want %d", c.name, got, c.want)
		}
	}
}

// TestThePastIsWhatItWas compares the past with a list that is searched from its end.
func TestThePastIsWhatItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Past[int]
		var at, kept []int64
		for now, n := int64(0), rapid.IntRange(0, 40).Draw(t, "values"); n > 0; n-- {
			now += rapid.Int64Range(0, 3).Draw(t, "later")
			if k := len(at); k > 0 && at[k-1] == now {
				at = at[:k-1]
			}
			at = append(at, now)
			p.Add(now, int(now))
		}
		kept = at
		from := rapid.Int64Range(-1, 130).Draw(t, "forget")
		most := rapid.IntRange(0, 50).Draw(t, "most")
		p.Forget(from, most)
		if most > 0 && len(kept) > most {
			kept = kept[len(kept)-most:]
		}
		for ask := max(from, 0); ask < 130; ask++ {
			want, known := -1, false
			for _, a := range slices.Backward(kept) {
				if a <= ask {
					want, known = int(a), true
					break
				}
			}
			if got, ok := p.At(ask); ok != known || ok && got != want {
				t.Fatalf("at %d: found %d, %v, want %d, %v", ask, got, ok, want, known)
			}
		}
	})
}

func TestASecondValueOfAnInstantReplacesTheFirst(t *testing.T) {
	var p Past[string]
	p.Add(5, "first")
	p.Add(5, "second")
	if got, ok := p.At(5); !ok || got != "second" {
		t.Errorf("found %q, %v, want the second", got, ok)
	}
	if _, ok := p.At(4); ok {
		t.Error("found a value before the first one")
	}
	if got := slices.Collect(p.Values()); len(got) != 1 {
		t.Errorf("found the values %v, want one", got)
	}
}
