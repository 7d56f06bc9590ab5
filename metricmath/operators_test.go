package metricmath_test

import (
	"testing"

	"github.com/muster-scale/muster/metricmath"
)

func TestOperators(t *testing.T) {
	check(t, []holds{
		{"adding: a missing point is zero beside a known one", "a 1 2 - -; b 10 - 30 -", "a + b", "11 2 30 -"},
		{"subtracting", "a 1 2 - -; b 10 - 30 -", "a - b", "-9 2 -30 -"},
		{"multiplying", "a 3 2 -; b 10 - 30", "a * b", "30 0 0"},
		{"dividing by zero or by a missing point drops the point", "a 6 6 6 -; b 3 0 - 2", "a / b", "2 - - 0"},
		{"a power", "a 2 3 0; b 3 -1 -1", "a ^ b", "8 0.3333333333333333 -"},
		{"a root of a negative number is dropped", "a 4 -4", "a ^ 0.5", "2 -"},
		{"what is too large is dropped", "a 1e300 2", "a * 1e300", "- 2e+300"},
		{"a number beside a series: only where the series has a point", "a 1 - 3", "a + 1", "2 - 4"},
		{"a number first", "a 1 - 4", "2 / a", "2 - 0.5"},
		{"two numbers are computed before the series", "a 1 2", "a * (1 + 2 * 3)", "7 14"},
		{"an unknown number beside a series leaves nothing", "a - -; b 1 2", "b + MAX(a)", "- -"},
		{"a division of numbers by zero is unknown", "a 1 2", "a + 1 / 0", "- -"},
		{"minus", "a 1 - -3", "-a", "-1 - 3"},
		{"minus of a number", "a 1 2", "-5 * a", "-5 -10"},
		{"minus of an array", "a 1 2; b 3 -", "-[a, b]", "-1 -2 | -3 -"},
		{"minus of zero is zero", "a 0", "-a", "0"},
		{"an array and a number", "a 1 2; b 3 -", "[a, b] * 100", "100 200 | 300 -"},
		{"a number and an array", "a 1 2; b 4 -", "SUM(100 / [a, b])", "125 50"},
		{"an array and a series", "a 1 2; b 3 -; c 2 2", "[a, b] / c", "0.5 1 | 1.5 0"},
		{"a series and an array", "a 1 2; b 3 -; c 2 2", "c - [a, b]", "1 0 | -1 2"},
		{"a computed series beside an array serves every line of it", "a 1 2; b 3 4; c 2 2", "(c + 0) * [a + 0, b + 0]",
			"2 4 | 6 8"},
		{"a computed series beside an array of metrics", "a 1 2; b 3 4; c 2 2", "[a, b] / (c + 0)", "0.5 1 | 1.5 2"},
		{"a computed series before an array of metrics", "a 1 2; b 4 8; c 8 8", "(c + 0) / [a, b]", "8 4 | 2 1"},
		{"arrays in an array are one array", "a 1; b 2; c 3", "[[a, b], c]", "1 | 2 | 3"},

		{"less, as documented", "m1 30 20 0 0; m2 20 - 20 -", "m1 < m2", "0 0 1 0"},
		{"at least, as documented", "m1 30 20 0 0; m2 20 - 20 -", "m1 >= 30", "1 0 0 0"},
		{"AND of comparisons, as documented", "m1 30 20 0 0; m2 20 - 20 -", "m1 > 15 AND m2 > 15", "1 0 0 0"},
		{"equal", "a 1 2 -; b 1 3 0", "a == b", "1 0 1"},
		{"not equal", "a 1 2 -; b 1 3 0", "a != b", "0 1 0"},
		{"greater", "a 1 2 -; b 0 2 -1", "a > b", "1 0 1"},
		{"at most", "a 1 2 -; b 0 2 -1", "a <= b", "0 1 0"},
		{"comparing with a number: only where the series has a point", "a 1 - 3", "2 < a", "0 - 1"},
		{"comparing numbers", "a 1", "a * (2 > 1)", "1"},
		{"AND and &&", "a 1 1 0 -2; b 1 0 0 3", "[a AND b, a && b]", "1 0 0 1 | 1 0 0 1"},
		{"OR and ||", "a 1 1 0 -; b 1 0 0 3", "[a OR b, a || b]", "1 1 0 1 | 1 1 0 1"},
		{"AND of numbers", "a 1", "a * (3 AND 0)", "0"},
	}, metricmath.Options{})
}

func TestTheUsualOrderOfOperators(t *testing.T) {
	check(t, []holds{
		{"* before +", "a 2", "1 + a * 3", "7"},
		{"+ before a comparison", "a 2", "a + 1 > 2", "1"},
		{"a comparison before AND", "a 2", "a > 1 AND a < 3", "1"},
		{"AND before OR", "a 1; b 0", "a OR b AND b", "1"},
		{"^ before minus", "a 3", "-a ^ 2", "-9"},
		{"^ from the right", "a 2", "a ^ 3 ^ 2", "512"},
		{"minus in an exponent", "a 2", "a ^ -1", "0.5"},
		{"minus before *", "a 2", "-a * -a", "4"},
		{"- from the left", "a 10", "a - 3 - 2", "5"},
		{"/ from the left", "a 12", "a / 3 / 2", "2"},
	}, metricmath.Options{})
}

func TestAnOrderThatAWSDoesNotDocumentCanBeRefused(t *testing.T) {
	strict := metricmath.Options{Ambiguity: metricmath.RefuseAmbiguity}
	check(t, []holds{
		{"AND beside OR", "a 1; b 0", "a OR b AND b", "refused: result: line 1, column 3: found OR beside AND, " +
			"expected parentheses; AWS does not document which comes first, and the option ambiguity is refuse"},
		{"a minus before ^", "a 3", "-a ^ 2", "refused: result: line 1, column 1: found a minus before ^, expected " +
			"parentheses; AWS does not document which comes first, and the option ambiguity is refuse"},
		{"one ^ after the other", "a 2", "a ^ 3 ^ 2", "refused: result: line 1, column 3: found one ^ after the " +
			"other, expected parentheses; AWS does not document which comes first, and the option ambiguity is refuse"},
		{"with parentheses", "a 2", "(-a) ^ (3 ^ 2) OR (a AND a)", "1"},
		{"what everybody reads alike", "a 2", "1 + a * 3 > 2 AND a > 1", "1"},
	}, strict)
}
