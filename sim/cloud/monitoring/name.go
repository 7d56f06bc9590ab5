package monitoring

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// This file has the names of metrics. AWS identifies a metric by namespace, name and all of its dimensions: the same
// name with one dimension more is another metric.

// Dimension is a name and a value that tell a metric from others of its name.
type Dimension struct {
	Name, Value string
}

// MetricName identifies a metric: namespace, name and all its dimensions, in any order.
type MetricName struct {
	Namespace  string
	MetricName string
	Dimensions []Dimension
}

// key returns one text for all orders of the dimensions. Parts are quoted, so that no two names share a key.
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
