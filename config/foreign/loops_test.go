package foreign_test

import (
	"fmt"
	"strings"
	"testing"
)

// Loops within loops give no more than a bound, however many elements they have.
func TestLoopsAreBounded(t *testing.T) {
	elements := strings.Repeat("a, ", 99) + "a"
	for _, row := range []struct {
		name string
		deep int
	}{{"two deep", 2}, {"deeper than allowed", 9}} {
		t.Run(row.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("Resources:\n")
			indent := "  "
			for k := range row.deep {
				fmt.Fprintf(&b, "%sFn::ForEach::L%d:\n%s  - X%d\n%s  - [%s]\n%s  -\n", indent, k, indent, k, indent,
					elements, indent)
				indent += "    "
			}
			b.WriteString(indent + "Q: {Type: AWS::SQS::Queue}\n")
			_, err := readText("t.yaml", []byte(b.String()))
			if err == nil || !strings.Contains(err.Error(), "gives too much; the rest is left out") {
				t.Errorf("found %v, want a note", err)
			}
		})
	}
}
