package exposition_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/internal/exposition"
)

func TestAPageIsWrittenByNameAndLabels(t *testing.T) {
	var p exposition.Page
	members := exposition.Family{Name: "members", Help: "Members\nby \\ state.", Labels: []string{"fleet", "state"}}
	p.Add(exposition.Gauge, members, 3, "b", `id"le`)
	p.Add(exposition.Gauge, members, math.Inf(1), "a", "busy\n")
	p.Add(exposition.Gauge, members, 0.1, "b", `id"le`) // in place of the first
	ended := exposition.NewCounts(exposition.Family{Name: "ended_total", Help: "Ended."})
	ended.Add(1)
	ended.Add(2.5)
	ended.Collect(&p)
	const want = `# HELP ended_total Ended.
# TYPE ended_total counter
ended_total 3.5
# HELP members Members\nby \\ state.
# TYPE members gauge
members{fleet="a",state="busy\n"} +Inf
members{fleet="b",state="id\"le"} 0.1
`
	if got := string(p.Bytes()); got != want {
		t.Errorf("found\n%s\nwant\n%s", got, want)
	}
}

// TestOthersReadWhatWasWritten holds that the library of Prometheus reads the same numbers and labels, whatever they
// are.
func TestOthersReadWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p exposition.Page
		label, v := rapid.String().Draw(t, "label"), rapid.Float64().Draw(t, "number")
		p.Add(exposition.Gauge, exposition.Family{Name: "x", Help: rapid.String().Draw(t, "help"),
			Labels: []string{"l"}}, v, label)
		parser := expfmt.NewTextParser(model.LegacyValidation)
		read, err := parser.TextToMetricFamilies(bytes.NewReader(p.Bytes()))
		if err != nil {
			t.Fatalf("%v, in\n%s", err, p.Bytes())
		}
		m := read["x"].GetMetric()[0]
		if got := m.GetGauge().GetValue(); got != v {
			t.Errorf("the number: found %v, want %v", got, v)
		}
		if got := m.GetLabel()[0].GetValue(); got != label {
			t.Errorf("the label: found %q, want %q", got, label)
		}
	})
}

func TestAHistogramIsWrittenByItsBounds(t *testing.T) {
	var p exposition.Page
	took := exposition.Family{Name: "took_seconds", Help: "Took.", Labels: []string{"fleet"}}
	p.AddHistogram(took, exposition.Histogram{Buckets: []exposition.Bucket{{9, 1}, {10, 3}}, Count: 4, Sum: 50.5}, "b")
	p.AddHistogram(took, exposition.Histogram{}, "a")
	const want = `# HELP took_seconds Took.
# TYPE took_seconds histogram
took_seconds_bucket{fleet="a",le="+Inf"} 0
took_seconds_sum{fleet="a"} 0
took_seconds_count{fleet="a"} 0
took_seconds_bucket{fleet="b",le="9"} 1
took_seconds_bucket{fleet="b",le="10"} 3
took_seconds_bucket{fleet="b",le="+Inf"} 4
took_seconds_sum{fleet="b"} 50.5
took_seconds_count{fleet="b"} 4
`
	if got := string(p.Bytes()); got != want {
		t.Errorf("found\n%s\nwant\n%s", got, want)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(bytes.NewReader(p.Bytes()))
	if err != nil || len(read["took_seconds"].GetMetric()) != 2 {
		t.Fatalf("the library of Prometheus reads %v, %v", read, err)
	}
	h := read["took_seconds"].GetMetric()[1].GetHistogram()
	if h.GetSampleCount() != 4 || h.GetSampleSum() != 50.5 || len(h.GetBucket()) != 3 ||
		h.GetBucket()[1].GetCumulativeCount() != 3 {
		t.Errorf("the library of Prometheus reads %v", h)
	}
}
