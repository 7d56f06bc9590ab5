package language_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/metricmath/language"
)

func TestAnExpressionIsWrittenDown(t *testing.T) {
	for _, r := range []struct{ name, text, want string }{
		{"spaces and lines", "a+\n\tb", "a + b"},
		{"needless parentheses go", "((a) + ((b * c)))", "a + b * c"},
		{"parentheses that matter stay", "(a + b) * c - (d - e)", "(a + b) * c - (d - e)"},
		{"from the left", "(a - b) - c", "a - b - c"},
		{"one spelling of AND and OR", "a && b || c", "(a AND b) OR c"},
		{"parentheses where AWS says nothing", "-a ^ b ^ c", "-(a ^ (b ^ c))"},
		{"minus of a minus", "--a", "-(-a)"},
		{"minus beside minus", "a - -b", "a - -b"},
		{"a comparison of comparisons", "(a < b) == (c < d)", "(a < b) == (c < d)"},
		{"the shortest numbers", "1.50 + 2e3 + .5 + 1e300 + 0.0000001 + 3.", "1.5 + 2000 + 0.5 + 1e+300 + 1e-07 + 3"},
		{"single quotes", `METRICS("a")`, "METRICS('a')"},
		{"double quotes around single ones", `METRICS("it's")`, `METRICS("it's")`},
		{"double quotes within single ones", `SEARCH('Name="a"', "Sum")`, `SEARCH('Name="a"', 'Sum')`},
		{"arrays, words and functions", "SORT([a,METRICS()],AVG,DESC , 3)", "SORT([a, METRICS()], AVG, DESC, 3)"},
		{"a space before a parenthesis", "FILL (a, 0)", "FILL(a, 0)"},
	} {
		t.Run(r.name, func(t *testing.T) {
			x, err := language.Parse(r.text, false)
			if err != nil || x.String() != r.want {
				t.Fatalf("found    %s, %v\nexpected %s", x, err, r.want)
			}
			rereads(t, x)
		})
	}
}

// rereads holds that what an expression writes down is the same expression, also where parentheses are asked for.
func rereads(t interface{ Fatalf(string, ...any) }, x language.Expression) {
	text := x.String()
	if len(text) > language.MaxText {
		return // spaces and parentheses may be more than fits
	}
	for _, strict := range []bool{false, true} {
		y, err := language.Parse(text, strict)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !x.Equal(y) || y.String() != text {
			t.Fatalf("%s reads as %s", text, y)
		}
	}
}

func TestIDs(t *testing.T) {
	x, err := language.Parse("IF(b > a, FILL(b, REPEAT), METRICS('c'))", false)
	if err != nil || !slices.Equal(x.IDs(), []string{"a", "b"}) {
		t.Errorf("found %v, %v", x.IDs(), err)
	}
}

func TestTheZeroExpressionIsEmpty(t *testing.T) {
	var zero language.Expression
	a, err := language.Parse("a", false)
	if err != nil || zero.String() != "" || len(zero.IDs()) > 0 || !zero.Equal(zero) || zero.Equal(a) || a.Equal(zero) {
		t.Errorf("found %q, %v, %v", zero, zero.IDs(), err)
	}
}

// written draws the text of an expression: any shape, kinds not minded.
func written(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"a", "b", "0", "7.25", "1e-9", "'x'", "REPEAT", "METRICS()"}).Draw(t, "leaf")
	}
	inner := func() string { return written(t, depth-1) }
	gap := rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "gap")
	switch rapid.IntRange(0, 5).Draw(t, "shape") {
	case 0:
		return "-" + gap + inner()
	case 1:
		return "(" + gap + inner() + ")"
	case 2:
		return "[" + inner() + "," + gap + inner() + "]"
	case 3:
		return rapid.SampledFrom([]string{"ABS", "IF", "SORT"}).Draw(t, "function") + gap + "(" + inner() + ", " +
			inner() + ")"
	case 4:
		return "(" + inner() + rapid.SampledFrom([]string{"<", "==", " AND ", "||"}).Draw(t, "comparison") + inner() +
			")"
	}
	return inner() + gap + rapid.SampledFrom([]string{"+", "-", "*", "/", "^", "&&", " OR "}).Draw(t,
		"operator") + gap + inner()
}

func TestWhatIsWrittenDownReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := written(t, rapid.IntRange(0, 6).Draw(t, "depth"))
		x, err := language.Parse(text, false)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rereads(t, x)
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))", "-a^-b^c",
		"SUM([METRICS('4xx'), METRICS(\"5xx\")])", "a<b AND c>=d || e!=f",
		"SEARCH(' {AWS/Lambda,FunctionName} MetricName=\"Errors\" OR (x AND NOT y) ', 'Sum', 300)", "((((1))))",
		"1e5+.5-3.", "SORT(METRICS(), AVG, DESC, 10)", "“a”", "a+\xff",
		strings.Repeat("(", 70) + "a", strings.Repeat("-", 200) + "a", strings.Repeat("a+", 100) + "a",
		strings.Repeat("a^", 70) + "a", strings.Repeat("[", 70),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := language.Parse(text, false)
		if err != nil {
			e, ok := err.(*language.Error)
			if !ok || e.Offset < 0 || e.Offset > len(text) || e.Line < 1 || e.Column < 1 || e.Found == "" {
				t.Fatalf("%q: the error %#v", text, err)
			}
			return
		}
		rereads(t, x)
	})
}
