package account

import (
	"fmt"
	"time"
)

// Draw returns the next number of a stream, uniform in [0, 1). Streams are independent: drawing from one does not
// change another, so a new kind of chance leaves recorded results alone.
func (w *Account) Draw(stream string) float64 {
	n := w.drawn[stream]
	w.drawn[stream] = n + 1
	return float64(scramble(scramble(w.identity.Seed^fold(stream))+n)>>11) / (1 << 53)
}

// Hit tells whether an event of this probability happens. A probability of 0 draws no number.
func (w *Account) Hit(stream string, probability float64) bool {
	return probability > 0 && w.Draw(stream) < probability
}

// Around returns a duration with a relative spread: uniform between d*(1-spread) and d*(1+spread).
func (w *Account) Around(stream string, d time.Duration, spread float64) time.Duration {
	if spread <= 0 || d <= 0 {
		return max(d, 0)
	}
	return time.Duration(float64(d) * (1 + min(spread, 1)*(2*w.Draw(stream)-1)))
}

// ID returns a new identifier of n hexadecimal digits, 16 to 32. Identifiers of an account differ in their first 16.
func (w *Account) ID(n int) string {
	w.ids++
	first := scramble(w.identity.Seed ^ w.ids) // one to one
	return fmt.Sprintf("%016x%016x", first, scramble(first))[:n]
}

// UUID returns a new identifier in the form of a UUID.
func (w *Account) UUID() string {
	h := w.ID(32)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// scramble spreads the bits of a number: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fold hashes a text to a number: FNV-1a.
func fold(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
