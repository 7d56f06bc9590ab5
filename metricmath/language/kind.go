package language

// Kind is the kind of a value: one bit each, so that a set of kinds is their sum.
type Kind uint8

// The kinds. The documentation of AWS writes S for a number, TS for one series and TS[] for an array. A binary operator
// between two of them gives the larger one.
const (
	Number    Kind = 1
	OneSeries Kind = 2
	Array     Kind = 4
)

// String names the kind for an error.
func (k Kind) String() string {
	switch k {
	case Number:
		return "a number"
	case OneSeries:
		return "one series"
	case Array:
		return "an array of series"
	}
	return "nothing"
}
