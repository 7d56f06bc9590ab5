package metricmath

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster/metricmath/language"
)

// call evaluates a function. The compiler has checked its signature. METRICS, SEARCH, PERIOD and the functions of
// CloudWatch alone come first, because their arguments are not values.
func (e *evaluation) call(n *language.Node) (result, error) {
	switch n.Text {
	case "METRICS":
		return e.metrics(n)
	case "SEARCH":
		return e.search(n)
	case "PERIOD":
		return result{kind: language.Number,
				number: Known(float64(e.program.entries[e.program.places[n.Args[0].Text]].period))},
			nil
	}
	if language.ComputedElsewhere(n.Text) {
		return e.given(n)
	}
	args := make([]result, len(n.Args))
	for i, a := range n.Args {
		if a.Kind == language.NodeWord {
			continue
		}
		var err error
		if args[i], err = e.node(a); err != nil {
			return result{}, err
		}
	}
	switch n.Text {
	case "FILL":
		return e.fill(n, args[0], args[1])
	case "IF":
		return e.choose(args)
	case "TIME_SERIES":
		return e.constant(args[0].number)
	case "METRIC_COUNT":
		return result{kind: language.Number, number: Known(float64(len(args[0].lines)))}, nil
	case "FIRST", "LAST", "SLICE", "SORT", "REMOVE_EMPTY":
		return e.pick(n, args)
	case "AVG", "MAX", "MIN", "SUM", "STDDEV", "DATAPOINT_COUNT":
		return e.reduce(n.Text, args[0])
	case "ABS", "CEIL", "FLOOR", "LOG", "LOG10":
		return e.perPoint(n.Text, args[0])
	case "MINUTE", "HOUR", "DAY", "DATE", "MONTH", "YEAR", "EPOCH":
		return e.calendar(n.Text, args[0])
	}
	return e.running(n.Text, args[0])
}

// metrics evaluates METRICS: an array of the selected metrics.
func (e *evaluation) metrics(n *language.Node) (result, error) {
	r := result{kind: language.Array}
	for _, place := range e.program.selected(n) {
		m, err := e.entry(place)
		if err != nil {
			return result{}, err
		}
		r.lines = append(r.lines, m.lines...)
	}
	return r, e.fits(r)
}

// given returns the result of a function that only CloudWatch can compute, from Inputs.Computed.
func (e *evaluation) given(n *language.Node) (result, error) {
	call := n.String()
	all, found := e.in.Computed[call]
	if !found {
		return result{}, fmt.Errorf("%s is computed by CloudWatch alone and was not given", call)
	}
	if n.Result == language.OneSeries && len(all) != 1 {
		return result{}, fmt.Errorf("found %d series for %s, expected one", len(all), call)
	}
	r := result{kind: n.Result}
	for _, s := range all {
		if err := e.add(&r, s, ""); err != nil {
			return result{}, fmt.Errorf("%s: %w", call, err)
		}
	}
	return r, e.fits(r)
}

// add places a series that belongs to no query and appends it to r. A series of another period is an error unless
// MixedPeriods allows it.
func (e *evaluation) add(r *result, s Series, stat string) error {
	l := line{label: s.Label}
	width, period := s.Period, inSeconds(int(e.grid.period))
	long, short := max(width, period), min(width, period)
	if len(s.Points) == 0 {
		l.points = make([]Point, e.grid.n)
		r.lines = append(r.lines, l)
		return e.spend(e.grid.n)
	}
	mixed := e.program.options.MixedPeriods
	fits := width == period || width > period && mixed == OwnTimestamps || width < period && mixed == LongestPeriod &&
		folds(stat)
	if width < time.Second || width%time.Second != 0 || !fits || long%short != 0 {
		return fmt.Errorf("found the series %s with points every %s, expected every %s", language.Cited(s.Label), width,
			period)
	}
	var err error
	l.points, err = e.place(s, stat)
	r.lines = append(r.lines, l)
	return err
}

// search evaluates SEARCH: an array of the listed metrics that it finds, in the order of the list.
func (e *evaluation) search(n *language.Node) (result, error) {
	if len(e.in.Listed) > MaxListed {
		return result{}, fmt.Errorf("%d metrics are listed for SEARCH, at most %d can be", len(e.in.Listed), MaxListed)
	}
	s, fault := language.ParseSearch(n.Args[0].Text)
	if fault != nil {
		// Unreachable after Compile, which parses the text too.
		return result{}, fmt.Errorf("found %s, expected %s", fault.Found, fault.Expected)
	}
	period := inSeconds(int(e.grid.period))
	if len(n.Args) == 3 {
		period = inSeconds(int(n.Args[2].Number))
	}
	r := result{kind: language.Array}
	for _, l := range e.in.Listed {
		if l.Stat != n.Args[1].Text || len(l.Series.Points) > 0 && l.Series.Period != period {
			continue
		}
		if err := e.spend(costOf(s, l.Metric)); err != nil {
			return result{}, err
		}
		if finds(s, l.Metric) {
			if err := e.add(&r, l.Series, l.Stat); err != nil {
				return result{}, err
			}
		}
	}
	return r, e.fits(r)
}

// costOf estimates the cost of matching one metric, in additions: every word of the search compares every letter.
func costOf(s language.Search, m Metric) int {
	letters := len(m.Namespace) + len(m.MetricName)
	for _, d := range m.Dimensions {
		letters += len(d.Name) + len(d.Value)
	}
	return letters * (1 + 4*s.Terms.Size())
}

// constant evaluates TIME_SERIES: a number at every period.
func (e *evaluation) constant(v Point) (result, error) {
	points := e.reuse()
	for i := range points {
		points[i] = v
	}
	return result{kind: language.OneSeries, lines: []line{{points: points, scratch: true}}}, e.spend(e.grid.n)
}

// perPoint evaluates the functions of one value at every known point. LOG of zero or less is missing.
func (e *evaluation) perPoint(function string, r result) (result, error) {
	f, cost := math.Abs, 1
	switch function {
	case "CEIL":
		f = math.Ceil
	case "FLOOR":
		f = math.Floor
	case "LOG":
		f, cost = math.Log, costly
	case "LOG10":
		f, cost = math.Log10, costly
	}
	return e.each(r, cost, func(p Point) Point { return Known(f(p.Value)) })
}

// calendar evaluates the functions of the date at which each period begins, in UTC. The result is known at every
// period, whatever the argument.
func (e *evaluation) calendar(function string, r result) (result, error) {
	part := func(t time.Time) int { return int(t.Unix()) }
	switch function {
	case "MINUTE":
		part = time.Time.Minute
	case "HOUR":
		part = time.Time.Hour
	case "DAY": // Monday is 1, Sunday 7
		part = func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }
	case "DATE":
		part = time.Time.Day
	case "MONTH":
		part = func(t time.Time) int { return int(t.Month()) }
	case "YEAR":
		part = time.Time.Year
	}
	return e.lines(r, costly, func(out, _ []Point) {
		for i := range out {
			out[i] = Point{float64(part(e.grid.start(i))), true}
		}
	}, nil)
}

// running evaluates DIFF, DIFF_TIME, RATE and RUNNING_SUM. Each point depends on the known points before it; missing
// ones are skipped, so a difference may span several periods.
func (e *evaluation) running(function string, r result) (result, error) {
	period := float64(e.grid.period)
	return e.lines(r, 1, func(out, in []Point) {
		before, at, sum := Point{}, 0, 0.0
		for i, p := range in {
			out[i] = Point{}
			if !p.Known {
				continue
			}
			seconds := float64(i-at) * period
			switch {
			case function == "RUNNING_SUM":
				sum += p.Value
				out[i] = Known(sum)
			case !before.Known:
			case function == "DIFF":
				out[i] = Known(p.Value - before.Value)
			case function == "DIFF_TIME":
				out[i] = Known(seconds)
			default:
				out[i] = Known((p.Value - before.Value) / seconds)
			}
			before, at = p, i
		}
	}, nil)
}
