// Package chance draws random numbers that are the same on every platform, for the generators and readers of traces. A
// [Stream] is made of a seed and a purpose. [Lognormal] and [Pareto] are distributions to draw from it with. [Ln],
// [Exp] and [SinTurns] give the same bits on every processor, which the functions of package math do not.
//
// The random streams of a simulated run are in package sim/internal/kernel instead: they need not agree between
// processors in the last digit.
package chance

import (
	"math"
	"math/rand/v2"
)

// The purposes. Each has a stream of its own, so a longer service never moves an arrival: two traces that differ in one
// setting differ in nothing else.
const (
	ForArrivals uint64 = iota + 1
	ForServices
	ForClasses
	ForStates
	ForTrees
)

// Stream is a sequence of independent draws. Here and in the functions below, every product is rounded before it is
// added (by float64): some processors would otherwise do both in one instruction, and get another last digit.
type Stream struct {
	bits  *rand.PCG
	spare float64 // the second number of a pair of normal draws
	has   bool
}

// New returns the stream of a seed for one purpose.
func New(seed, purpose uint64) *Stream {
	first := mix(seed ^ mix(purpose))
	return &Stream{bits: rand.NewPCG(first, mix(first))}
}

// mix turns similar numbers into very different ones (SplitMix64), so that neighbouring seeds have unrelated streams.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Uniform draws from [0, 1), in steps of 2^-53.
func (s *Stream) Uniform() float64 { return float64(s.bits.Uint64()>>11) / (1 << 53) }

// Exponential draws from the exponential distribution of mean 1.
func (s *Stream) Exponential() float64 { return -Ln(1 - s.Uniform()) }

// Normal draws from the standard normal distribution, by Marsaglia's polar method.
func (s *Stream) Normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		u := float64(2*s.Uniform()) - 1
		v := float64(2*s.Uniform()) - 1
		r := float64(u*u) + float64(v*v)
		if r > 0 && r < 1 {
			scale := math.Sqrt(float64(-2*Ln(r)) / r)
			s.spare, s.has = float64(v*scale), true
			return float64(u * scale)
		}
	}
}

// Unit draws a factor of mean 1.
type Unit func(*Stream) float64

// Lognormal returns the lognormal distribution of mean 1 with the given coefficient of variation. With cv 0 it is
// always 1 and draws nothing.
func Lognormal(cv float64) Unit {
	variance := Ln(1 + float64(cv*cv)) // of the logarithm
	sigma, shift := math.Sqrt(variance), variance/2
	if cv <= 0 {
		return func(*Stream) float64 { return 1 }
	}
	return func(s *Stream) float64 { return Exp(float64(s.Normal()*sigma) - shift) }
}

// Pareto returns the Pareto distribution of mean 1 with the given coefficient of variation. Its shape is the a with
// cv^2 = 1 / (a (a - 2)).
func Pareto(cv float64) Unit {
	if cv <= 0 {
		return Lognormal(0)
	}
	a := 1 + math.Sqrt(1+1/float64(cv*cv))
	least := (a - 1) / a
	return func(s *Stream) float64 { return float64(least * Exp(s.Exponential()/a)) }
}

// The natural logarithm of 2 in two parts. The first has so few digits that small whole multiples of it are exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// Ln returns the natural logarithm of a finite x > 0. With x = m 2^e and m near 1 it is e ln 2 + ln m, and
//
//	ln m = 2 (f + f^3/3 + f^5/5 ...)  with  f = (m-1) / (m+1)
func Ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	f := (m - 1) / (m + 1)
	square := float64(f * f)
	sum := 0.0
	for k := 23; k >= 3; k -= 2 {
		sum = float64(square * (sum + 1/float64(k)))
	}
	sum = float64(2*f*sum) + 2*f
	return float64(float64(e)*ln2High) + (float64(float64(e)*ln2Low) + sum)
}

// Exp returns e^x for |x| <= 700, and the value at the nearest of these for other x. With x = k ln 2 + r it is 2^k e^r,
// and e^r is computed by its Taylor series.
func Exp(x float64) float64 {
	x = min(max(x, -700), 700)
	k := math.Floor(float64(x/math.Ln2) + 0.5)
	r := (x - float64(k*ln2High)) - float64(k*ln2Low)
	sum := 1.0
	for n := 14; n >= 1; n-- {
		sum = 1 + float64(r*sum)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}

// SinTurns returns sin(2 pi x), for |x| < 2^50: the sine of so many whole turns and a part.
func SinTurns(x float64) float64 {
	x -= math.Floor(x + 0.5) // within half a turn of 0
	switch {                 // and mirrored to within a quarter
	case x > 0.25:
		x = 0.5 - x
	case x < -0.25:
		x = -0.5 - x
	}
	a := float64(2 * math.Pi * x)
	square := float64(a * a)
	sum := 1.0
	for n := 20.0; n >= 2; n -= 2 {
		sum = 1 - float64(square*sum)/float64(n*(n+1))
	}
	return float64(a * sum)
}
