package metricmath

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/metricmath/language"
)

// periods finds the program's period: the one period of all metrics, or for mixed ones the choice of
// Options.MixedPeriods. A list without metrics has Options.PeriodSeconds.
func (c *compiler) periods() {
	var all []int
	for _, e := range c.entries {
		if e.root == nil {
			all = append(all, e.period)
			continue
		}
		e.root.Walk(func(n *language.Node) {
			if n.Kind == language.NodeCall && n.Text == "SEARCH" && len(n.Args) == 3 {
				all = append(all, c.searchPeriod(e.query, n.Args[2]))
			}
		})
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		all = []int{c.options.PeriodSeconds}
	}
	c.period = all[0]
	if c.options.MixedPeriods == LongestPeriod {
		c.period = all[len(all)-1]
	}
	if len(all) > 1 {
		c.mixed(all)
	}
	for _, e := range c.entries {
		if p := e.query.PeriodSeconds; p != 0 && e.root != nil && p != c.period {
			c.fault(e.query.ID, fmt.Sprintf("a period of %d seconds", p),
				fmt.Sprintf("the list's period, %d", c.period), "leave Period out of expressions")
		}
	}
}

// searchPeriod returns the third argument of a SEARCH, which must be a plain number, because the program's period must
// be known before an evaluation.
func (c *compiler) searchPeriod(q Query, n *language.Node) int {
	if n.Kind != language.NodeNumber || n.Number != float64(int(n.Number)) || !goodPeriod(int(n.Number)) {
		c.failed(q.ID, language.FaultAt(q.Expression, n.At, "the period of SEARCH", "a number: "+goodPeriods, ""))
		return c.options.PeriodSeconds
	}
	return int(n.Number)
}

// mixed checks metrics with several periods, which are sorted in all. Each period must divide the longer ones, so that
// the points of one lie on the grid of the other.
func (c *compiler) mixed(all []int) {
	if c.options.MixedPeriods == RefuseMixed {
		c.fault("", "metrics with periods of "+listed(all)+" seconds", "one period", "AWS does not document how they "+
			"combine; give all the same Period, or choose with the option mixed_periods")
		return
	}
	for _, p := range all {
		if long, short := max(p, c.period), min(p, c.period); short > 0 && long%short != 0 {
			c.fault("", "metrics with periods of "+listed(all)+" seconds", "periods that divide each other", "")
			return
		}
	}
	if c.options.MixedPeriods != LongestPeriod {
		return
	}
	for _, e := range c.entries {
		if e.root == nil && e.period < c.period && !folds(e.query.MetricStat.Stat) {
			c.fault(e.query.ID, fmt.Sprintf("the statistic %s of a shorter period", e.query.MetricStat.Stat),
				"Sum, SampleCount, Maximum, Minimum or Average", "other statistics of short periods do not give that "+
					"of a long one")
		}
	}
}

// listed joins numbers with commas.
func listed(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

// results finds the entries whose points are returned. See Options.StrictReturnData for an absent ReturnData.
func (c *compiler) results() {
	written, silent := 0, 0
	for _, e := range c.entries {
		switch r := e.query.ReturnData; {
		case r == nil:
			silent++
		case *r:
			written++
		}
	}
	silentReturns := c.options.StrictReturnData || c.options.Use == ForGraph || written == 0
	for i, e := range c.entries {
		if r := e.query.ReturnData; r == nil && silentReturns || r != nil && *r {
			c.returned = append(c.returned, i)
		}
	}
	switch n := len(c.returned); {
	case n == 0:
		c.fault("", "no query with ReturnData true", "one", "write ReturnData: true on the last expression")
	case c.options.Use == ForGraph:
	case n > 1:
		c.fault("", fmt.Sprintf("%d queries that return their points (%s)", n, c.returning()), "exactly one",
			"the default of ReturnData is true: write ReturnData: false on every query but the one to scale by")
	case c.entries[c.returned[0]].kind != language.OneSeries:
		e := c.entries[c.returned[0]]
		c.failed(e.query.ID, language.FaultAt(e.query.Expression, 0, e.kind.String(), "one series",
			"make one of it with SUM, MAX, MIN, AVG or FIRST"))
	}
}

// returning names the entries that return their points, at most six.
func (c *compiler) returning() string {
	const most = 6
	var names []string
	for _, i := range c.returned {
		names = append(names, c.entries[i].query.ID)
	}
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return strings.Join(names, ", ")
}

// Note is a remark on a list that compiles: AWS would refuse it, or a number may not mean what it seems to mean.
type Note struct {
	// Query is the id of the query, empty for a remark on the whole list.
	Query string
	// Text is one or two sentences.
	Text string
}

// Period returns the length of the periods that the program computes; 0 for the zero Program.
func (p Program) Period() time.Duration { return inSeconds(p.period) }

// Notes returns the remarks, in the order of the list.
func (p Program) Notes() []Note { return slices.Clone(p.notes) }

// advise collects the remarks.
func (c *compiler) advise() (notes []Note) {
	if c.options.Use != ForGraph {
		notes = c.adviseOnReturns()
	}
	metrics := 0
	for _, e := range c.entries {
		id := e.query.ID
		if m := e.query.MetricStat; m != nil {
			metrics++
			if m.Stat == "Sum" && !strings.HasPrefix(m.Metric.Namespace, "AWS/") {
				notes = append(notes, Note{id,
					fmt.Sprintf("Sum adds up every publication within %d s: of a count such as the number of workers "+
						"it is right only if each publishes exactly once in that time. "+
						"Publishing n times makes it n times as much.", e.period)})
			}
			continue
		}
		if n := len([]rune(e.query.Expression)); n > AWSText {
			notes = append(notes, Note{id, fmt.Sprintf("The expression has %d characters; AWS takes %d.", n, AWSText)})
		}
		notes = append(notes, c.adviseOnCalls(e)...)
	}
	if c.options.Use != ForGraph && metrics > AWSAlarmMetrics {
		notes = append(notes, Note{"",
			fmt.Sprintf("The list reads %d metrics; an alarm of AWS takes %d, and target tracking rests on alarms.",
				metrics, AWSAlarmMetrics)})
	}
	return notes
}

// adviseOnReturns remarks on queries without ReturnData that the defaults here count as false. AWS counts them as true
// and would refuse the list.
func (c *compiler) adviseOnReturns() []Note {
	var silent []string
	for i, e := range c.entries {
		if e.query.ReturnData == nil && !slices.Contains(c.returned, i) {
			silent = append(silent, e.query.ID)
		}
	}
	if len(silent) == 0 {
		return nil
	}
	return []Note{{"", "ReturnData is not written on " + strings.Join(silent, ", ") +
		". AWS counts that as true and allows one true alone: write ReturnData: false there before AWS is to read " +
		"the list."}}
}

// shiftingInAlarms lists the functions that AWS advises against in alarms: CloudWatch fetches more points than the
// alarm evaluates, which changes their result. For all but the last two this holds only where they reduce one series to
// a number.
var shiftingInAlarms = []string{"AVG", "MAX", "MIN", "SUM", "STDDEV", "DATAPOINT_COUNT", "REMOVE_EMPTY", "RUNNING_SUM"}

// adviseOnCalls remarks on functions that an alarm should not use or that only CloudWatch can compute, each once.
func (c *compiler) adviseOnCalls(e entry) (notes []Note) {
	var said []string
	e.root.Walk(func(n *language.Node) {
		if n.Kind != language.NodeCall || slices.Contains(said, n.Text) {
			return
		}
		shifting := n.Result == language.Number || n.Text == "REMOVE_EMPTY" || n.Text == "RUNNING_SUM"
		switch {
		case language.ComputedElsewhere(n.Text):
			notes = append(notes, Note{e.query.ID, n.Text + " is computed by CloudWatch alone; it is unknown here " +
				"unless its series are given."})
		case c.options.Use != ForGraph && shifting && slices.Contains(shiftingInAlarms, n.Text):
			notes = append(notes, Note{e.query.ID, "An alarm may look at more points than it evaluates, and " + n.Text +
				" then gives something else: AWS advises against it in alarms."})
		default:
			return
		}
		said = append(said, n.Text)
	})
	return notes
}

// Order returns the ids of the expressions in the order of evaluation.
func (p Program) Order() []string {
	ids := make([]string, len(p.order))
	for i, at := range p.order {
		ids[i] = p.entries[at].query.ID
	}
	return ids
}

// Returned returns the ids of the queries whose points are returned, in the order of the list. There is exactly one
// unless Options.Use is ForGraph.
func (p Program) Returned() []string {
	ids := make([]string, len(p.returned))
	for i, at := range p.returned {
		ids[i] = p.entries[at].query.ID
	}
	return ids
}

// Metrics returns the metrics that the caller must read, in the order of the list, each with its period.
func (p Program) Metrics() (queries []Query) {
	for _, e := range p.entries {
		if e.root == nil {
			q := e.query
			q.MetricStat = q.MetricStat.clone()
			q.MetricStat.PeriodSeconds = e.period
			queries = append(queries, q)
		}
	}
	return queries
}

// Expression returns the expression of the query with the given id. It is false for a metric and for an unknown id.
func (p Program) Expression(id string) (language.Expression, bool) {
	at, known := p.places[id]
	if !known || p.entries[at].root == nil {
		return language.Expression{}, false
	}
	return p.entries[at].parsed, true
}
