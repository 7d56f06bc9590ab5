package nodes_test

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// The lines of several texts count on, and each place is told with its own file and line.
func TestAPlaceIsToldWithItsFileAndLine(t *testing.T) {
	var f nodes.Files
	first, second, third := f.Add("a", []byte("one\ntwo\n")), f.Add("b", []byte("")), f.Add("c", []byte("x\r\nlast"))
	for _, row := range []struct {
		line int
		want string
	}{
		{first + 1, "a:1 one"},
		{first + 2, "a:2 two"},
		{second + 1, "b:1 "},
		{third + 1, "c:1 x"},
		{third + 2, "c:2 last"},
		{third + 9, "c:2 last"},
		{0, "a:1 one"},
	} {
		fault := f.Fault(row.line, 1, "m", "")
		if got := fmt.Sprintf("%s:%d %s", fault.File, fault.Line, fault.Source); got != row.want {
			t.Errorf("line %d: found %s, expected %s", row.line, got, row.want)
		}
	}
}

func TestTreesAreTheSameWhereverTheyStand(t *testing.T) {
	read := func(text string) *yaml.Node {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		return n.Content[0]
	}
	for _, row := range []struct {
		name, a, b string
		same       bool
	}{
		{"flow and block", "a: {b: [1, 2]}", "\n\na:\n  b:\n    - 1\n    - 2\n", true},
		{"another value", "[1, 2]", "[1, 3]", false},
		{"another shape", "[1, 2]", "[[1], 2]", false},
		{"another function", "!Ref a", "!ImportValue a", false},
		{"the same function", "!ImportValue a", "!ImportValue 'a'", true},
		{"a list and its parts", "[a, b]", "[ab]", false},
	} {
		if got := nodes.Identity(read(row.a)) == nodes.Identity(read(row.b)); got != row.same {
			t.Errorf("%s: found %t, expected %t", row.name, got, row.same)
		}
	}
}
