package language

// Kind is what an expression gives: one bit, so that sets of kinds are sums.
type Kind uint8

// The kinds. AWS writes S, TS and TS[].
const (
	Number    Kind = 1
	OneSeries Kind = 2
	Array     Kind = 4
)

// String is the kind in words.
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
