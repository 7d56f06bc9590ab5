package metricmath

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/metricmath/language"
)

// Program is a checked list of queries. It is immutable and safe for concurrent use. The zero Program evaluates to
// nothing.
type Program struct {
	options Options
	// entries are the queries in the order of the list. Everywhere in this package a place is an index into it.
	entries []entry
	// order lists the places of the expressions in the order of evaluation: each after everything it needs.
	order []int
	// returned are the places of the entries whose points are returned.
	returned []int
	period   int // seconds
	edges    int // the number of needs of all entries together
	notes    []Note
	places   map[string]int // of the entries, by id
}

// entry is one compiled query.
type entry struct {
	query Query
	// parsed is the expression and root its tree; root is nil for a metric.
	parsed language.Expression
	root   *language.Node
	kind   language.Kind
	needs  []int // places of the entries that the expression needs
	// period is the period of a metric, in seconds; zero for an expression.
	period int
}

// maxFaults bounds the faults of one error. A list with more is most likely not a metric-math list at all.
const maxFaults = 20

// Compile checks a list of queries. The error joins a [*language.Error] for each fault, up to 20: invalid, repeated or
// unknown ids; expressions that cannot be parsed or whose kinds do not fit; cycles of expressions; periods that do not
// combine; not exactly one returned series where Options.Use wants one.
//
// Each stage needs the results of the stage before, so a stage runs only if no earlier one found a fault.
func Compile(queries []Query, o Options) (Program, error) {
	o = o.withDefaults()
	c := compiler{Program: Program{options: o, places: map[string]int{}}}
	c.faults = o.check()
	c.list(queries)
	if len(c.faults) == 0 {
		c.arrange()
	}
	if len(c.faults) == 0 {
		c.kinds()
		c.periods()
		c.results()
	}
	if len(c.faults) > 0 {
		return Program{}, errors.Join(c.faults[:min(len(c.faults), maxFaults)]...)
	}
	c.notes = c.advise()
	return c.Program, nil
}

// compiler collects the faults while it fills in a Program.
type compiler struct {
	Program
	faults []error
}

// fault adds a fault without a position in an expression's text.
func (c *compiler) fault(id, found, expected, fix string) {
	c.faults = append(c.faults, &language.Error{Query: id, Found: found, Expected: expected, Fix: fix})
}

// failed adds the fault of the expression with the given id; nil adds nothing.
func (c *compiler) failed(id string, err error) {
	if e := (*language.Error)(nil); errors.As(err, &e) {
		named := *e
		named.Query = id
		c.faults = append(c.faults, &named)
	}
}

// list compiles the queries one by one. The bound on the whole text comes first, so that a huge list is refused fast.
func (c *compiler) list(queries []Query) {
	if n := len(queries); n == 0 || n > MaxQueries {
		c.fault("", fmt.Sprintf("a list of %d queries", n), fmt.Sprintf("1 to %d", MaxQueries), "")
		return
	}
	total := 0
	for i, q := range queries {
		if len(c.faults) >= maxFaults {
			return
		}
		total += len(q.Expression)
		if total > MaxTotalText {
			c.fault(q.ID, "too much text in all expressions together",
				fmt.Sprintf("at most %d bytes", MaxTotalText), "")
			return
		}
		c.entry(i, q)
	}
}

// entry compiles query i. A query with an invalid id is named by its number.
func (c *compiler) entry(i int, q Query) {
	name := q.ID
	if !language.GoodID(name) {
		name = fmt.Sprintf("query %d", i+1)
		c.fault(name, "the Id "+language.Cited(q.ID),
			"a lower-case letter, then letters, digits and underscores, at most 255",
			"")
	} else if _, twice := c.places[q.ID]; twice {
		c.fault(name, "an Id that an earlier query has", "another", "")
	}
	q.MetricStat = q.MetricStat.clone() // the caller may change its own
	e := entry{query: q}
	switch {
	case q.MetricStat != nil && q.Expression != "":
		c.fault(name, "both MetricStat and Expression", "one of them", "read the metric in one query, and compute in "+
			"another")
	case q.MetricStat != nil:
		e.kind = language.OneSeries
		e.period = c.metric(name, *q.MetricStat)
	default:
		x, err := language.Parse(q.Expression, c.options.Ambiguity == RefuseAmbiguity)
		c.failed(name, err)
		e.parsed, e.root = x, x.Root()
	}
	c.places[q.ID] = i
	c.entries = append(c.entries, e)
}

// metric checks a metric and returns its period in seconds. The bounds are those of the CloudWatch API.
func (c *compiler) metric(id string, m MetricStat) int {
	for _, field := range []struct{ name, is string }{{"Namespace", m.Metric.Namespace},
		{"MetricName", m.Metric.MetricName}, {"Stat", m.Stat}} {
		if field.is == "" || len(field.is) > 255 {
			c.fault(id, fmt.Sprintf("%s %s", field.name, language.Cited(field.is)), "1 to 255 characters", "")
		}
	}
	if len(m.Metric.Dimensions) > 30 {
		c.fault(id, fmt.Sprintf("%d dimensions", len(m.Metric.Dimensions)), "at most 30", "")
	}
	for _, d := range m.Metric.Dimensions {
		if d.Name == "" || d.Value == "" || len(d.Name) > 255 || len(d.Value) > 1024 {
			c.fault(id, fmt.Sprintf("the dimension %s = %s", language.Cited(d.Name), language.Cited(d.Value)),
				"a name of 1 to 255 characters and a value of 1 to 1024", "")
		}
	}
	if m.PeriodSeconds == 0 {
		return c.options.PeriodSeconds
	}
	if !goodPeriod(m.PeriodSeconds) {
		c.fault(id, fmt.Sprintf("a period of %d seconds", m.PeriodSeconds), goodPeriods, "")
	}
	return m.PeriodSeconds
}

// ids are the ids in the order of the list.
func (c *compiler) ids() []string {
	ids := make([]string, len(c.entries))
	for i, e := range c.entries {
		ids[i] = e.query.ID
	}
	return ids
}

// arrange finds what each expression needs, and the order of evaluation: a depth-first search over the needs, which
// reports cycles. METRICS needs the metrics that it selects; SEARCH needs no entry, because it looks through
// Inputs.Listed.
func (c *compiler) arrange() {
	selections := 0
	for i := range c.entries {
		e := &c.entries[i]
		if e.root == nil {
			continue
		}
		e.root.Walk(func(n *language.Node) {
			switch place, known := c.places[n.Text]; {
			case n.Kind == language.NodeID && known:
				e.needs = append(e.needs, place)
			case n.Kind == language.NodeCall && (n.Text == "METRICS" || n.Text == "SEARCH"):
				if selections++; n.Text == "METRICS" && selections <= MaxSelections &&
					(len(n.Args) == 0 || n.Args[0].Kind == language.NodeText) {
					e.needs = append(e.needs, c.selected(n)...)
				}
			}
		})
		slices.Sort(e.needs)
		e.needs = slices.Compact(e.needs)
		c.edges += len(e.needs)
	}
	if selections > MaxSelections {
		c.fault("", fmt.Sprintf("%d calls of METRICS and SEARCH", selections), fmt.Sprintf("at most %d", MaxSelections),
			"give what is selected an id of its own, and use that")
	}
	state := make([]byte, len(c.entries)) // 0 not visited, 1 on the current path, 2 done
	var path []int
	var visit func(i int)
	visit = func(i int) {
		switch state[i] {
		case 1:
			c.cycle(append(path[slices.Index(path, i):], i))
			return
		case 2:
			return
		}
		state[i], path = 1, append(path, i)
		for _, n := range c.entries[i].needs {
			visit(n)
		}
		state[i], path = 2, path[:len(path)-1]
		if c.entries[i].root != nil {
			c.order = append(c.order, i)
		}
	}
	for i := range c.entries {
		visit(i)
	}
}

// cycle adds the fault of a cycle. A long cycle is shortened to ten names.
func (c *compiler) cycle(path []int) {
	names := make([]string, len(path))
	for i, p := range path {
		names[i] = c.entries[p].query.ID
	}
	if len(names) > 10 {
		names = append(names[:9:9], "...", names[len(names)-1])
	}
	c.fault(names[0], "an expression that needs itself: "+strings.Join(names, " needs "), "expressions over metrics "+
		"and over other expressions", "")
}

// selected returns the places of the metrics that a call of METRICS selects: those whose id contains its text.
func (p Program) selected(call *language.Node) (places []int) {
	for i, e := range p.entries {
		if e.root == nil && (len(call.Args) == 0 || strings.Contains(e.query.ID, call.Args[0].Text)) {
			places = append(places, i)
		}
	}
	return places
}

// kinds checks the kinds of the expressions in the order of evaluation, so that the kinds of the ids in each are known.
func (c *compiler) kinds() {
	s := language.Scope{Kinds: map[string]language.Kind{}, Metrics: map[string]bool{}, IDs: c.ids(),
		Search: c.options.Use == ForGraph}
	for _, e := range c.entries {
		if e.root == nil {
			s.Kinds[e.query.ID], s.Metrics[e.query.ID] = language.OneSeries, true
		}
	}
	for _, i := range c.order {
		if len(c.faults) >= maxFaults {
			return
		}
		e := &c.entries[i]
		err := s.Check(e.query.Expression, e.root)
		e.kind = e.root.Result
		if err == nil && e.kind == language.Number {
			err = language.FaultAt(e.query.Expression, 0, "an expression that gives a number", "one that gives series",
				"write TIME_SERIES(...) around it")
		}
		c.failed(e.query.ID, err)
		if err != nil {
			e.kind = language.OneSeries // one fault must not cause others in the expressions that use this one
		}
		s.Kinds[e.query.ID] = e.kind
	}
}
