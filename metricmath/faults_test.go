package metricmath_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metricmath/language"
)

func TestWhatIsWrongWithAnExpression(t *testing.T) {
	const metrics = "workers 1; backlog 2; m1 3"
	for _, r := range []struct{ name, expression, want string }{
		{"nothing", "", "line 1, column 1: found nothing, expected an expression"},
		{"spaces", "  \n ", "line 1, column 1: found nothing, expected an expression"},
		{"an operand is missing", "m1 +", "line 1, column 5: found the end of the expression, expected a number, an " +
			"id, a function, ( or ["},
		{"an operator is missing", "m1 workers", "line 1, column 4: found workers, expected an operator or the end " +
			"of the expression"},
		{"two operators", "m1 * / 2", `line 1, column 6: found "/", expected a number, an id, a function, ( or [`},
		{"a parenthesis that is never closed", "(m1 + 2", "line 1, column 8: found the end of the expression, " +
			"expected an operator or )"},
		{"a bracket that is never closed", "SUM([m1, 2)",
			`line 1, column 11: found ")", expected an operator, a comma or ]`},
		{"too many parentheses", "m1)",
			`line 1, column 3: found ")", expected an operator or the end of the expression`},
		{"an empty array", "SUM([])", `line 1, column 6: found "]", expected a number, an id, a function, ( or [`},
		{"an argument is missing", "FILL(m1,)",
			`line 1, column 9: found ")", expected a number, an id, a function, ( or [`},
		{"on the second line, after characters of several bytes", "METRICS('é')\n+ \"ü\" + bäcklog",
			`line 2, column 10: found the character "ä", expected an id, a number, a function or an operator`},

		{"a function with a slip", "FIL(m1, 0)", "line 1, column 1: found the unknown function FIL, expected one of " +
			"the functions of metric math; did you mean FILL?"},
		{"a function with swapped letters", "m1 + CIEL(m1)", "line 1, column 6: found the unknown function CIEL, " +
			"expected one of the functions of metric math; did you mean CEIL?"},
		{"a function that is nothing like one", "WIBBLE(m1)", "line 1, column 1: found the unknown function WIBBLE, " +
			"expected one of the functions of metric math"},
		{"a function in small letters", "fill(m1, 0)", "line 1, column 1: found fill before a parenthesis, expected " +
			"a function; functions are written in capitals: FILL"},
		{"a function in small letters with a slip", "fil(m1, 0)", "line 1, column 1: found fil before a parenthesis, " +
			"expected a function; functions are written in capitals; did you mean FILL?"},
		{"an id before a parenthesis", "workers(2)", "line 1, column 1: found workers before a parenthesis, expected " +
			"a function; write an operator between an id and a parenthesis"},
		{"a function without arguments", "m1 + IF",
			"line 1, column 6: found IF without arguments, expected ( behind it"},
		{"a word that means nothing", "Workers + 1", "line 1, column 1: found the unknown word Workers, expected a " +
			"number, an id, a function, ( or [; ids begin with a lower-case letter"},
		{"a word with a slip", "FILL(m1, REPAT)", "line 1, column 10: found the unknown word REPAT, expected a " +
			"number, an id, a function, ( or [; ids begin with a lower-case letter; did you mean REPEAT?"},
		{"a word in small letters", "FILL(m1, repeat)",
			`line 1, column 10: found the unknown id "repeat", expected the id of a query of this list; the word is written in capitals: REPEAT`},
		{"another language", "SELECT AVG(x) FROM y", "line 1, column 1: found SELECT, expected an expression; this " +
			"is a query of Metrics Insights, another language; read its result as a metric"},
		{"an id with a slip", "wrokers + 1",
			`line 1, column 1: found the unknown id "wrokers", expected the id of a query of this list; did you mean workers?`},
		{"an id in other case", "m1 / Backlog", "line 1, column 6: found the unknown word Backlog, expected a " +
			"number, an id, a function, ( or [; ids begin with a lower-case letter"},
		{"an id that nothing is like", "zebra",
			`line 1, column 1: found the unknown id "zebra", expected the id of a query of this list`},
		{"and in small letters", "m1 and m1", "line 1, column 4: found and, expected an operator or the end of the " +
			"expression; write AND"},

		{"one equals sign", "m1 = 2",
			`line 1, column 4: found the character "=", expected an id, a number, a function or an operator; compare with ==`},
		{"a single ampersand", "m1 & m1",
			`line 1, column 4: found the character "&", expected an id, a number, a function or an operator; write && or ||, AND or OR`},
		{"an exclamation mark", "!m1",
			`line 1, column 1: found the character "!", expected an id, a number, a function or an operator; there is no NOT; compare with == 0`},
		{"a remainder", "m1 % 2",
			`line 1, column 4: found the character "%", expected an id, a number, a function or an operator; there is no remainder`},
		{"curly quotes", "METRICS(“a”)",
			`line 1, column 9: found the character "“", expected an id, a number, a function or an operator; write straight quotes: " or '`},
		{"a long minus", "m1 − 1",
			`line 1, column 4: found the character "−", expected an id, a number, a function or an operator; write the minus sign of the keyboard: -`},
		{"a semicolon", "m1; m1",
			`line 1, column 3: found the character ";", expected an id, a number, a function or an operator; a query has one expression; write a query for each`},
		{"a quote that is never closed", "METRICS('a)", "line 1, column 9: found a quote that is never closed, " +
			"expected a second '; a text cannot hold its own kind of quote: use the other kind around it"},
		{"a number before an id", "2m1",
			`line 1, column 2: found "m" right after a number, expected an operator; ids begin with a lower-case letter; write * to multiply`},
		{"a number with two points", "1.2.3 * m1",
			`line 1, column 4: found "." right after a number, expected an operator; ids begin with a lower-case letter; write * to multiply`},
		{"a point alone", "m1 + .", "line 1, column 6: found a point without a digit, expected a number"},
		{"a number that is too large", "m1 + 1e999", "line 1, column 6: found a number too large to compute with, " +
			"expected at most 1.7e308"},
		{"comparisons in a chain", "1 < m1 < 3", "line 1, column 8: found a second comparison, <, expected one " +
			"between two values; write (a < b) AND (b < c)"},

		{"a number alone", "AVG(m1)", "line 1, column 1: found an expression that gives a number, expected one that " +
			"gives series; write TIME_SERIES(...) around it"},
		{"a text alone", "'m1'",
			`line 1, column 1: found the text "m1", expected a number, an id or a function; text is for METRICS, SEARCH and functions that CloudWatch computes`},
		{"a word alone", "m1 + REPEAT", "line 1, column 6: found the word REPEAT, expected a number, an id or a " +
			"function; REPEAT and LINEAR are for FILL, AVG, MIN, MAX, SUM, ASC and DESC without parentheses for SORT"},
		{"a number in an array", "SUM([m1, 2])", "line 1, column 10: found a number in an array, expected series; " +
			"write TIME_SERIES(...) around it"},
		{"two arrays", "[m1, m1] / METRICS()", "line 1, column 10: found / between two arrays, expected at most one " +
			"array; make one series of either with SUM, MIN, MAX or AVG"},
		{"comparing an array", "METRICS() > 2", "line 1, column 11: found > between an array of series and a number, " +
			"expected numbers or series; take one series out of the array with FIRST, or make one of it with SUM, " +
			"MIN or MAX"},
		{"AND with an array", "m1 AND METRICS()", "line 1, column 4: found AND between one series and an array of " +
			"series, expected numbers or series; take one series out of the array with FIRST, or make one of it with " +
			"SUM, MIN or MAX"},
		{"a number where series are wanted", "ABS(2)", "line 1, column 5: found a number as argument 1 of ABS, " +
			"expected one series, an array of series; write TIME_SERIES(...) around the number"},
		{"one series where an array is wanted", "FIRST(m1)", "line 1, column 7: found m1, one series, as argument 1 " +
			"of FIRST, expected an array of series; write [ ] around the series"},
		{"an array where one series is wanted", "MINUTE(METRICS())", "line 1, column 8: found an array of series as " +
			"argument 1 of MINUTE, expected one series; take one series out of the array with FIRST, or make one of " +
			"it with SUM, MIN or MAX"},
		{"a series where a number is wanted", "TIME_SERIES(m1)", "line 1, column 13: found m1, one series, as " +
			"argument 1 of TIME_SERIES, expected a number; make a number of the series with AVG, MIN, MAX or SUM"},
		{"a text where a word is wanted", "FILL(m1, 'REPEAT')", "line 1, column 10: found a text in quotes as " +
			"argument 2 of FILL, expected a number, one series, REPEAT or LINEAR"},
		{"another word", "SORT(METRICS(), ASC, AVG)", "line 1, column 17: found ASC as argument 2 of SORT, expected " +
			"AVG, MIN, MAX or SUM"},
		{"an id where a text is wanted", "METRICS(m1)", "line 1, column 9: found m1, one series, as argument 1 of " +
			"METRICS, expected a text in quotes; write it in quotes"},
		{"too few arguments", "IF(m1)", "line 1, column 1: found IF with one argument, expected 2 to 3"},
		{"too many arguments", "ABS(m1, m1)", "line 1, column 1: found ABS with 2 arguments, expected 1"},
		{"no arguments", "FILL()", "line 1, column 1: found FILL with 0 arguments, expected 2"},
		{"METRICS with two", "METRICS('a', 'b')", "line 1, column 1: found METRICS with 2 arguments, expected 0 to 1"},
		{"IF between numbers", "IF(1, 2, 3)", "line 1, column 7: found a number as argument 2 of IF, expected one " +
			"series; write TIME_SERIES(...) around the number"},
		{"IF with an array", "IF(m1, METRICS())", "line 1, column 8: found an array of series as argument 2 of IF, " +
			"expected a number, one series; take one series out of the array with FIRST, or make one of it with SUM, " +
			"MIN or MAX"},
		{"PERIOD of what was computed", "m1 * PERIOD(m1 + 1)", "line 1, column 13: found one series as argument 1 of " +
			"PERIOD, expected the id of a metric; PERIOD knows metrics alone, not what was computed from them"},
	} {
		t.Run(r.name, func(t *testing.T) {
			if got := computed(t, metrics, r.expression, metricmath.Options{}); got != "refused: result: "+r.want {
				t.Errorf("found    %s\nexpected refused: result: %s", got, r.want)
			}
		})
	}
}

func TestAnErrorTellsItsPlace(t *testing.T) {
	_, err := language.Parse("m1 +\n  m2 * / 3", false)
	var e *language.Error
	if !errors.As(err, &e) || e.Offset != 12 || e.Line != 2 || e.Column != 8 || e.Found != `"/"` {
		t.Errorf("found %+v", e)
	}
}

func TestEveryFaultIsShownUpToTwenty(t *testing.T) {
	var list []metricmath.Query
	for i := range 30 {
		list = append(list, metricmath.Query{ID: fmt.Sprintf("e%d", i), Expression: "1 +"})
	}
	_, err := metricmath.Compile(list, metricmath.Options{})
	if err == nil || strings.Count(err.Error(), "\n") != 19 {
		t.Errorf("found %v", err)
	}
}

func TestAnErrorBelowAnotherIsNotShownTwice(t *testing.T) {
	_, err := metricmath.Compile([]metricmath.Query{
		metric("m"), {ID: "e1", Expression: "m + x"}, {ID: "e2", Expression: "e1 + 1", ReturnData: said(true)},
	}, metricmath.Options{})
	if want := `e1: line 1, column 5: found the unknown id "x", expected the id of a query of this list`; err == nil ||
		err.Error() != want {
		t.Errorf("found %v", err)
	}
}
