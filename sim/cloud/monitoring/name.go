package monitoring

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Dimension is one name and value of a metric.
type Dimension struct {
	Name, Value string
}

// MetricName is what CloudWatch knows a metric by.
type MetricName struct {
	Namespace  string
	MetricName string
	Dimensions []Dimension
}

// key is one text for all orders of the dimensions.
func (m MetricName) key() string {
	dims := slices.Clone(m.Dimensions)
	slices.SortFunc(dims, func(a, b Dimension) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Value, b.Value))
	})
	var b strings.Builder
	b.WriteString(strconv.Quote(m.Namespace) + strconv.Quote(m.MetricName))
	for _, d := range dims {
		b.WriteString(strconv.Quote(d.Name) + strconv.Quote(d.Value))
	}
	return b.String()
}
