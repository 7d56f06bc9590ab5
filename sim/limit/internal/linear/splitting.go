// Package linear searches solutions of linear programs, for the bound by prices of package limit. A [Program] is built
// row by row, balanced by [Program.Scale] and worked on by a [Splitting], one round after the other:
//
//	p.Add(cost, upper); p.Row(right, false); p.Entry(column, value)
//	row, column := p.Scale()
//	s := linear.NewSplitting(p, start)
//	for range rounds { s.Round() }
//	point := s.Reached()
//
// It proves nothing: how good a dual [Point] is, the caller has to prove. So an inexact solver is enough.
package linear

import "math"

// Program is a linear program: minimise cost*x with lower <= x <= upper and, for each row, row*x >= right, or = right
// where equal is set.
type Program struct {
	// Cost, Lower and Upper have one number for each column.
	Cost, Lower, Upper []float64
	// Right has one number for each row.
	Right []float64
	equal []bool
	// Row i has the entries from begin[i] to begin[i+1] of column and value.
	begin  []int32
	column []int32
	value  []float64
}

// Add adds a column between 0 and an upper bound.
func (p *Program) Add(cost, upper float64) {
	p.Cost, p.Lower, p.Upper = append(p.Cost, cost), append(p.Lower, 0), append(p.Upper, upper)
}

// Row adds an empty row. Entry adds to the newest row.
func (p *Program) Row(right float64, equal bool) {
	if len(p.begin) == 0 {
		p.begin = []int32{0}
	}
	p.Right, p.equal = append(p.Right, right), append(p.equal, equal)
	p.begin = append(p.begin, int32(len(p.column)))
}

// Entry sets the factor of a column in the newest row.
func (p *Program) Entry(column int, value float64) {
	p.column, p.value = append(p.column, int32(column)), append(p.value, value)
	p.begin[len(p.begin)-1] = int32(len(p.column))
}

// times sets out to rows*x.
func (p *Program) times(x, out []float64) {
	for i := range out {
		sum := 0.0
		for k := p.begin[i]; k < p.begin[i+1]; k++ {
			sum += p.value[k] * x[p.column[k]]
		}
		out[i] = sum
	}
}

// back sets out to the transpose of rows, times y.
func (p *Program) back(y, out []float64) {
	clear(out)
	for i, v := range y {
		if v == 0 {
			continue
		}
		for k := p.begin[i]; k < p.begin[i+1]; k++ {
			out[p.column[k]] += p.value[k] * v
		}
	}
}

// Point is a primal and a dual point.
type Point struct {
	// X has a number for each column, Y a price for each row.
	X, Y []float64
}

// NewPoint returns the point at 0.
func NewPoint(p *Program) Point {
	return Point{make([]float64, len(p.Cost)), make([]float64, len(p.Right))}
}

// copy sets z to from.
func (z Point) copy(from Point) {
	copy(z.X, from.X)
	copy(z.Y, from.Y)
}

// Scale balances the rows and columns of p in place: first by the root of their largest entry, then by the root of
// their sum. It returns the factors: x of the given program is column times x of the scaled one, and y is row times y.
func (p *Program) Scale() (row, column []float64) {
	row, column = Ones(len(p.Right)), Ones(len(p.Cost))
	r, c := make([]float64, len(row)), make([]float64, len(column))
	const rounds = 10
	for round := range rounds {
		clear(r)
		clear(c)
		for i := range r {
			for k := p.begin[i]; k < p.begin[i+1]; k++ {
				v, j := math.Abs(p.value[k]), p.column[k]
				if round == rounds-1 {
					r[i] += v
					c[j] += v
				} else {
					r[i], c[j] = max(r[i], v), max(c[j], v)
				}
			}
		}
		invert(r)
		invert(c)
		for i := range r {
			row[i] *= r[i]
			for k := p.begin[i]; k < p.begin[i+1]; k++ {
				p.value[k] *= r[i] * c[p.column[k]]
			}
		}
		for j := range c {
			column[j] *= c[j]
		}
	}
	for i := range row {
		p.Right[i] *= row[i]
	}
	for j := range column {
		p.Cost[j] *= column[j]
		p.Lower[j] /= column[j]
		p.Upper[j] /= column[j]
	}
	return row, column
}

// Ones returns n ones.
func Ones(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// invert replaces each number by one over its root, and 0 by 1.
func invert(all []float64) {
	for i, v := range all {
		all[i] = 1
		if v > 0 {
			all[i] = 1 / math.Sqrt(v)
		}
	}
}

// norm estimates the largest singular value from below, by power iteration.
func (p *Program) norm() float64 {
	x, y := Ones(len(p.Cost)), make([]float64, len(p.Right))
	for i := range x {
		x[i] += math.Mod(float64(i)*0.618, 1) // so that the start is not orthogonal to the solution
	}
	size := 0.0
	for range 40 {
		p.times(x, y)
		p.back(y, x)
		if size = length(x); size == 0 {
			return 1
		}
		for i := range x {
			x[i] /= size
		}
	}
	return math.Sqrt(size)
}

// length returns the Euclidean length of x.
func length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// Splitting improves a point of a scaled program by alternating steps on its primal and its dual side: the primal-dual
// hybrid gradient method, reflected, anchored at the point of its last restart (Halpern's iteration), and restarted
// when the steps have become short.
type Splitting struct {
	*Program
	step, weight    float64
	now, next, from Point // the present point, the point that a step leads to, and the anchor
	slope, activity []float64
	age             int // rounds since the last restart
	first, last     float64
}

// NewSplitting starts at a point, which belongs to it from then on.
func NewSplitting(p *Program, start Point) *Splitting {
	s := &Splitting{Program: p, step: 0.95 / p.norm(), weight: 1, now: start, next: NewPoint(p), from: NewPoint(p)}
	s.slope, s.activity = make([]float64, len(p.Cost)), make([]float64, len(p.Right))
	if c, b := length(p.Cost), length(p.Right); c > 0 && b > 0 {
		s.weight = c / b
	}
	s.from.copy(start)
	return s
}

// Reached returns the point to which the newest round led. The next round changes it.
func (s *Splitting) Reached() Point { return s.next }

// Round makes one step.
func (s *Splitting) Round() {
	moved := s.advance()
	if s.age == 0 {
		s.first = moved
	}
	if s.age > 0 && (moved < 0.2*s.first || moved < 0.8*s.first && moved > s.last || s.age > 2000) {
		s.restart()
		return
	}
	s.last = moved
	s.age++
	keep := float64(s.age) / float64(s.age+1)
	blend(s.now.X, s.next.X, s.from.X, keep)
	blend(s.now.Y, s.next.Y, s.from.Y, keep)
}

// blend moves now to its reflection at next with the weight keep, and back to the anchor with the rest.
func blend(now, next, anchor []float64, keep float64) {
	for i := range now {
		now[i] = keep*(2*next[i]-now[i]) + (1-keep)*anchor[i]
	}
}

// advance sets next to one step from now, and returns the length of the step.
func (s *Splitting) advance() float64 {
	s.back(s.now.Y, s.slope)
	tau, sigma := s.step/s.weight, s.step*s.weight
	dx, dy := 0.0, 0.0
	reflected := s.slope // the memory is used again: each entry is read once before it is replaced
	for j, x := range s.now.X {
		v := min(max(x-tau*(s.Cost[j]-s.slope[j]), s.Lower[j]), s.Upper[j])
		s.next.X[j] = v
		dx += (v - x) * (v - x)
		reflected[j] = 2*v - x
	}
	s.times(reflected, s.activity)
	for i, y := range s.now.Y {
		v := y + sigma*(s.Right[i]-s.activity[i])
		if !s.equal[i] {
			v = max(0, v)
		}
		s.next.Y[i] = v
		dy += (v - y) * (v - y)
	}
	return math.Sqrt(dx*s.weight + dy/s.weight)
}

// restart makes the next point the anchor. It weighs primal against dual steps by how far each came since the last one.
func (s *Splitting) restart() {
	dx, dy := distance(s.next.X, s.from.X), distance(s.next.Y, s.from.Y)
	if dx > 1e-12 && dy > 1e-12 {
		s.weight = math.Sqrt(s.weight * dy / dx)
	}
	s.now.copy(s.next)
	s.from.copy(s.next)
	s.age = 0
}

// distance returns the Euclidean distance between a and b.
func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}
