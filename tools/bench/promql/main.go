// Command promql evaluates the published formula for worker utilization over a day of minutes, in turns with Muster's
// metricmath and with the query evaluation of Prometheus, compares all 1,440 results, and prints how long each took. It
// is a module of its own, so that Prometheus is no dependency of the product; -mod=mod lets it follow the product when
// that needs newer versions of what both use. Run it with
//
//	cd tools/bench/promql && go run -mod=mod .
//
// The Prometheus side reads from lists in memory, its fastest storage. FILL(m, REPEAT) is its look back to the last
// sample; a minute without workers ends in the staleness marker that Prometheus itself writes when a target is gone.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/muster-scale/muster/metricmath"
)

const (
	// A day of minutes.
	minutes = 1440
	// rounds are how often each side has its turn, and turns how often it evaluates in one.
	rounds               = 21
	turnsOurs, turnsThem = 200, 20
	goal                 = 5
	formula              = `((backlog + inflight) / (workers > 0)) or (backlog + inflight > bool 0)`
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

// run compares the results once, then measures both sides in turns and prints the medians.
func run() error {
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	read := day(start)
	// Both get the same points; each keeps its own form of them.
	ours, theirs := program(start, read), prometheus(start, read)
	a, err := ours()
	if err != nil {
		return err
	}
	b, err := theirs()
	if err != nil {
		return err
	}
	// Equal to the last bit: both compute the same divisions of the same numbers.
	if !slices.Equal(a, b) {
		return fmt.Errorf("the results differ: ours %v, Prometheus %v", a, b)
	}
	var us, them, ratios []float64
	for range rounds {
		u, err := timed(ours, turnsOurs)
		if err != nil {
			return err
		}
		t, err := timed(theirs, turnsThem)
		if err != nil {
			return err
		}
		// A ratio is taken within one round.
		us, them, ratios = append(us, u), append(them, t), append(ratios, t/u)
	}
	for _, x := range [][]float64{us, them, ratios} {
		slices.Sort(x)
	}
	fmt.Printf("%s, %s/%s, %d cores; %d minutes, all %d results equal; %d rounds\n", runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), minutes, len(a), rounds)
	fmt.Printf("muster metricmath, text to result   %9.1f us (median; %.1f to %.1f)\n", us[rounds/2], us[0],
		us[rounds-1])
	fmt.Printf("Prometheus v0.315.0, text to result %9.1f us (median; %.1f to %.1f)\n", them[rounds/2], them[0],
		them[rounds-1])
	fmt.Printf("ratio %.1f (median; %.1f to %.1f), goal at least %d\n", ratios[rounds/2], ratios[0], ratios[rounds-1],
		goal)
	return nil
}

// timed returns how many microseconds a call takes on average over some turns.
func timed(f func() ([]float64, error), turns int) (float64, error) {
	// The garbage of the other side is collected before the clock starts.
	runtime.GC()
	began := time.Now()
	for range turns {
		if _, err := f(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(began).Nanoseconds()) / 1e3 / float64(turns), nil
}

// day makes up a day: a wave of messages, SQS counts that are late now and then, and nights without workers.
func day(start time.Time) map[string]metricmath.Series {
	read := map[string]metricmath.Series{}
	for k, id := range []string{"backlog", "inflight", "workers"} {
		s := metricmath.Row(start, time.Minute, make([]float64, minutes)...)
		for i := range s.Points {
			wave := 1 + math.Sin(2*math.Pi*float64(i)/minutes)
			s.Points[i] = metricmath.Known(math.Floor(wave * float64(20-5*k)))
			// At night there are no workers; a count of SQS is missing now and then.
			if night := wave < 0.2; id == "workers" && night || id != "workers" && i%17 == 5+k {
				s.Points[i] = metricmath.Point{}
			}
		}
		read[id] = s
	}
	return read
}

// program is Muster's side: compile the list, evaluate it, take the numbers out.
func program(start time.Time, read map[string]metricmath.Series) func() ([]float64, error) {
	stat := func(name, stat string) *metricmath.MetricStat {
		return &metricmath.MetricStat{Metric: metricmath.Metric{Namespace: "Day", MetricName: name}, Stat: stat}
	}
	returns := true
	queries := []metricmath.Query{
		{ID: "backlog", MetricStat: stat("backlog", "Maximum")},
		{ID: "inflight", MetricStat: stat("inflight", "Maximum")},
		{ID: "workers", MetricStat: stat("workers", "Sum")},
		{ID: "totalWork", Expression: "FILL(backlog, REPEAT) + FILL(inflight, REPEAT)"},
		{ID: "utilizationRatio", Expression: "totalWork / workers"},
		{ID: "utilization", Expression: "IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))",
			ReturnData: &returns},
	}
	return func() ([]float64, error) {
		// Compiling is measured, too: the other side parses its text.
		p, err := metricmath.Compile(queries, metricmath.Options{})
		if err != nil {
			return nil, err
		}
		v, reason := p.Evaluate(metricmath.Inputs{Series: read}, start.Add(minutes*time.Minute))
		if reason != "" {
			return nil, fmt.Errorf("no result: %s", reason)
		}
		out := make([]float64, len(v.Series[0].Points))
		for i, x := range v.Series[0].Points {
			out[i] = x.Value
		}
		return out, nil
	}
}

// prometheus is the other side: the same numbers as samples in memory, and the formula in PromQL.
func prometheus(start time.Time, read map[string]metricmath.Series) func() ([]float64, error) {
	lists := map[string]storage.Series{}
	for id, s := range read {
		lists[id] = storage.NewListSeries(labels.FromStrings(labels.MetricName, id), samples(id, s))
	}
	// The look back must reach over the whole day, as FILL(m, REPEAT) does.
	query := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 24 * time.Hour,
		Parser: parser.NewParser(parser.Options{}),
	})
	return func() ([]float64, error) {
		q, err := query.NewRangeQuery(context.Background(), memory{lists}, nil, formula, start,
			start.Add((minutes-1)*time.Minute), time.Minute)
		if err != nil {
			return nil, err
		}
		defer q.Close()
		m, err := q.Exec(context.Background()).Matrix()
		if err != nil {
			return nil, err
		}
		// The formula joins three metrics into one series.
		if len(m) != 1 {
			return nil, fmt.Errorf("Prometheus gave %d series, expected one", len(m))
		}
		out := make([]float64, len(m[0].Floats))
		for i, p := range m[0].Floats {
			out[i] = p.F
		}
		return out, nil
	}
}

// samples turns a series into samples. An unknown point is no sample; a minute without workers is a staleness marker.
func samples(id string, s metricmath.Series) (all []chunks.Sample) {
	for i, p := range s.Points {
		at := s.Start.Add(time.Duration(i) * s.Period).UnixMilli()
		switch {
		case p.Known:
			all = append(all, sample{at, p.Value})
		// Without a marker Prometheus would look back and find the last number.
		case id == "workers":
			all = append(all, sample{at, math.Float64frombits(value.StaleNaN)})
		}
	}
	return all
}

// sample is one number at a time, as Prometheus reads it: a float, never a histogram.
type sample struct {
	at int64 // Unix milliseconds
	v  float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// memory is a storage of one series for each name.
type memory struct {
	lists map[string]storage.Series
}

// Querier implements storage.Queryable.
func (m memory) Querier(int64, int64) (storage.Querier, error) {
	// Prometheus offers this querier for tests; it calls the function for each selector.
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints,
		matchers ...*labels.Matcher) storage.SeriesSet {
		for _, x := range matchers {
			if x.Name == labels.MetricName {
				return &one{series: m.lists[x.Value]}
			}
		}
		return storage.EmptySeriesSet()
	}}, nil
}
