package mustertest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"
)

// This file stands in for GetMetricData of CloudWatch, over Smithy RPC v2 CBOR.

// Metrics answers GetMetricData of CloudWatch over its wire protocol with data points that a test has set, and counts
// the calls. It computes no expression: the value of an expression is set under its text. For whole worlds use
// package mustertest/fakeaws. The zero value is ready; it is safe for concurrent use.
type Metrics struct {
	mu     sync.Mutex
	points map[string]map[int64]float64 // by metric or expression, then by the start of the period in Unix seconds
	calls  []int                        // queries of each call since Calls
	fault  string                       // error code; empty for none
}

// Tell sets the value of the metric named "Namespace/MetricName Statistic", or of an expression under its text, for
// the period that begins at a time.
func (m *Metrics) Tell(metric string, at time.Time, value float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.points == nil {
		m.points = map[string]map[int64]float64{}
	}
	if m.points[metric] == nil {
		m.points[metric] = map[int64]float64{}
	}
	m.points[metric][at.Unix()] = value
}

// Fail makes calls fail with an error code, until it is called with an empty one.
func (m *Metrics) Fail(code string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = code
}

// Calls returns how many queries each call had since the last time, oldest first.
func (m *Metrics) Calls() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = nil
	return calls
}

// ServeHTTP implements [http.Handler].
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	in, decodeErr := cbor.Decode(body)
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	request, ok := in.(cbor.Map)
	// Anything but GetMetricData is an error, and so is every call while a fault is set.
	if err != nil || decodeErr != nil || !ok || !strings.HasSuffix(r.URL.Path, "/operation/GetMetricData") ||
		m.fault != "" {
		w.WriteHeader(http.StatusBadRequest)
		w.Write(cbor.Encode(cbor.Map{"__type": cbor.String(m.fault), "message": cbor.String("no")}))
		return
	}
	// A request of the SDK has been validated there, so its members have these types.
	queries := request["MetricDataQueries"].(cbor.List)
	m.calls = append(m.calls, len(queries))
	start, end := seconds(request["StartTime"]), seconds(request["EndTime"])
	results := cbor.List{}
	for _, q := range queries {
		results = append(results, m.result(q.(cbor.Map), start, end))
	}
	w.Write(cbor.Encode(cbor.Map{"MetricDataResults": results, "Messages": cbor.List{}}))
}

// result answers one query with the points within the range, oldest first.
func (m *Metrics) result(query cbor.Map, start, end int64) cbor.Map {
	name, period := "", int64(60)
	if stat, ok := query["MetricStat"].(cbor.Map); ok {
		metric := stat["Metric"].(cbor.Map)
		name = fmt.Sprintf("%s/%s %s", metric["Namespace"], metric["MetricName"], stat["Stat"])
		period = whole(stat["Period"])
	} else {
		name = string(query["Expression"].(cbor.String))
	}
	stamps, values := cbor.List{}, cbor.List{}
	// Periods begin at multiples of their length since 1970, as in CloudWatch; the first may begin before the range.
	for at := start - start%period; at < end; at += period {
		if v, ok := m.points[name][at]; ok && at >= start {
			stamps = append(stamps, &cbor.Tag{ID: 1, Value: cbor.Float64(at)})
			values = append(values, cbor.Float64(v))
		}
	}
	return cbor.Map{"Id": query["Id"], "Label": cbor.String(name), "StatusCode": cbor.String("Complete"),
		"Timestamps": stamps, "Values": values}
}

// seconds returns a time of the wire in Unix seconds, tagged or not.
func seconds(v cbor.Value) int64 {
	if tag, ok := v.(*cbor.Tag); ok {
		v = tag.Value
	}
	if f, ok := v.(cbor.Float64); ok {
		return int64(f)
	}
	return whole(v)
}

// whole returns a number of the wire as an integer; 0 for anything else.
func whole(v cbor.Value) int64 {
	switch n := v.(type) {
	case cbor.Uint:
		return int64(n)
	case cbor.Float64:
		return int64(n)
	}
	return 0
}
