package metricmath_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/metricmath"
)

// named is a metric from "Namespace Name dimension=value ...".
func named(words string) metricmath.Metric {
	all := strings.Fields(words)
	m := metricmath.Metric{Namespace: all[0], MetricName: all[1]}
	for _, d := range all[2:] {
		name, value, _ := strings.Cut(d, "=")
		m.Dimensions = append(m.Dimensions, metricmath.Dimension{Name: name, Value: value})
	}
	return m
}

// found are the metrics that a SEARCH finds, by their places among some, or the refusal.
func found(t *testing.T, text string, metrics ...string) string {
	t.Helper()
	p, err := metricmath.Compile([]metricmath.Query{{ID: "e", Expression: text}},
		metricmath.Options{Use: metricmath.ForGraph})
	if err != nil {
		return "refused: " + err.Error()
	}
	in := metricmath.Inputs{Since: monday}
	for i, m := range metrics {
		s := metricmath.Row(monday, time.Minute, float64(i))
		s.Label = fmt.Sprint(i)
		in.Listed = append(in.Listed, metricmath.Listed{Metric: named(m), Stat: "Sum", Series: s})
	}
	v, _ := p.Evaluate(in, monday.Add(time.Minute))
	var labels []string
	for _, s := range v.Series {
		labels = append(labels, s.Label)
	}
	return strings.Join(labels, " ")
}

func TestSearch(t *testing.T) {
	all := []string{
		"AWS/SQS ApproximateNumberOfMessagesVisible QueueName=orders",  // 0
		"AWS/SQS NumberOfMessagesSent QueueName=orders-dead",           // 1
		"AWS/EC2 CPUUtilization InstanceId=i-12 InstanceType=t2.micro", // 2
		"AWS/EC2 CPUUtilization InstanceId=i-34",                       // 3
		"Custom CustomCount1",                                          // 4
		"Custom Network-Errors-2 host=Europe\\France(a)",               // 5
		"Custom NetworkErrors2",                                        // 6
		"Custom SDBFailure",                                            // 7
	}
	for _, r := range []struct{ name, search, want string }{
		{"a word in a name", "Visible", "0"},
		{"a word in a dimension's value", "orders", "0 1"},
		{"a word in a dimension's name", "Queue", "0 1"},
		{"case does not count for one word", "COUNT", "4"},
		{"though it does where it parts words", "couNT", ""},
		{"words that follow each other", "CustomCount", "4"},
		{"words and a digit that follow each other", "Count1", "4"},
		{"in small letters they are one word", "customcount", ""},
		{"a digit parts words, with their case", "count1", ""},
		{"the whole name in small letters", "customcount1", "4"},
		{"capitals before a word", "sdb", "7"},
		{"a dash between words", "network-errors", "5 6"},
		{"a slash between words", "network/errors", "5 6"},
		{"an underscore between words", "Network_Errors", "5 6"},
		{"only a part of a word", "Visib", ""},
		{"exactly", `"CPUUtilization"`, "2 3"},
		{"exactly, but not all of it", `"CPU"`, ""},
		{"exactly, with signs behind backslashes", `"Europe\\France\(a\)"`, "5"},
		{"two words are both wanted", "orders dead", "1"},
		{"AND", "orders AND dead", "1"},
		{"OR", "visible OR failure", "0 7"},
		{"AND before OR", "visible OR orders AND dead", "0 1"},
		{"parentheses", "(visible OR sent) dead", "1"},
		{"NOT", "orders NOT dead", "0"},
		{"NOT alone", "NOT Namespace=AWS", "4 5 6 7"},
		{"NOT of a group", "NOT (AWS OR network)", "4 7"},
		{"a word that begins with one of them", "failure ORders", ""},
		{"the metric's name", `MetricName="CPUUtilization"`, "2 3"},
		{"the namespace", `Namespace="AWS/SQS" sent`, "1"},
		{"a dimension", "InstanceType=micro", "2"},
		{"a dimension, exactly", `InstanceType="t2.micro"`, "2"},
		{"a dimension that none has", "Flavour=micro", ""},
		{"a schema with dimensions takes just those", "{AWS/EC2, InstanceId}", "3"},
		{"in any order", "{AWS/EC2,InstanceType,InstanceId} cpu", "2"},
		{"a schema without dimensions takes the namespace", "{AWS/EC2}", "2 3"},
		{"a schema, a comma and a word", `{Custom}, "CustomCount1"`, "4"},
		{"a schema in quotes", `{"AWS/SQS", "QueueName"} visible`, "0"},
		{"a schema is exact", "{aws/ec2}", ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			if got := found(t, "SEARCH('"+r.search+"', 'Sum', 60)", all...); got != r.want {
				t.Errorf("%s: found %q, expected %q", r.search, got, r.want)
			}
		})
	}
	t.Run("of one statistic", func(t *testing.T) {
		if got := found(t, "SEARCH('orders', 'Maximum')", all...); got != "" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("of one period", func(t *testing.T) {
		if got := found(t, "SEARCH('orders', 'Sum', 300)", all...); got != "" {
			t.Errorf("found %q", got)
		}
	})
}

func TestWhatIsWrongWithASearch(t *testing.T) {
	for _, r := range []struct{ name, search, want string }{
		{"nothing", " ", "line 1, column 10: found nothing to search for, expected a schema in braces, or words"},
		{"a schema that is never closed", "{AWS/SQS", "line 1, column 17: found a schema that is not closed, " +
			"expected a comma or }"},
		{"an empty schema", "{}", `line 1, column 10: found "}", expected a word`},
		{"a quote that is never closed", `visible "a`,
			`line 1, column 17: found a quote that is never closed, expected a second "`},
		{"a group that is never closed", "(a OR b",
			"line 1, column 16: found a group that is never closed, expected )"},
		{"a group too many", "a)", `line 1, column 10: found ")", expected a word, AND, OR, NOT or the end`},
		{"OR at the end", "a OR", `line 1, column 13: found "", expected a word`},
		{"NOT at the end", "a NOT", `line 1, column 14: found "", expected a word`},
		{"a property without a value", "MetricName=", `line 1, column 20: found "", expected a word`},
	} {
		t.Run(r.name, func(t *testing.T) {
			if got := found(t, "SEARCH('"+r.search+"', 'Sum')"); got != "refused: e: "+r.want {
				t.Errorf("found    %s\nexpected refused: e: %s", got, r.want)
			}
		})
	}
	for text, want := range map[string]string{
		"SEARCH('" + strings.Repeat("a", 1025) +
			"', 'Sum')": "e: line 1, column 1033: found 1025 bytes of search, expected at most 1024",
		"SEARCH('" + strings.Repeat("(", 65) + "a" + strings.Repeat(")", 65) +
			"', 'Sum')": "e: line 1, column 73: found nesting deeper than 64, expected less",
		"SEARCH('a', 'Sum', 45)": "e: line 1, column 20: found the period of SEARCH, expected a number: 1, 5, 10, " +
			"20, 30 or a multiple of 60 seconds up to a day",
		"SEARCH('a')": "e: line 1, column 1: found SEARCH with one argument, expected 2 to 3",
	} {
		if got := found(t, text); got != "refused: "+want {
			t.Errorf("%.40s: found %s, expected %s", text, got, want)
		}
	}
}

func TestSearchInsideAnExpression(t *testing.T) {
	if got := found(t, "SORT(SEARCH('{Custom} NOT network', 'Sum', 60), MAX, DESC)", "Custom A", "Custom Network",
		"Other C", "Custom D"); got != "3 0" {
		t.Errorf("found %q", got)
	}
}
