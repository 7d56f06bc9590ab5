package server

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"
)

// TestPrometheusReadsWhatIsWritten holds that the parser of Prometheus finds every value under its labels, whatever they say.
func TestPrometheusReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anything := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\\", "\\n", "a\nb", `say "x"`, "a,b}", "\xff"}))
		f := gaugeOf("muster_test", "Said of it: "+anything.Draw(t, "help"), "queue", "fleet")
		e, want := newExposition(), map[[2]string]float64{}
		for range rapid.IntRange(1, 5).Draw(t, "series") {
			fleet, queue, v := anything.Draw(t, "fleet"), anything.Draw(t, "queue"), rapid.Float64().Draw(t, "value")
			e.set(f, v, queue, fleet)
			want[[2]string{strings.ToValidUTF8(fleet, "\uFFFD"), strings.ToValidUTF8(queue, "\uFFFD")}] = v
		}
		e.add(counterOf("muster_test_total", "Counted."), 1)
		e.add(counterOf("muster_test_total", "Counted."), math.Inf(1))
		var text bytes.Buffer
		if err := e.write(&text); err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(&text)
		if err != nil {
			t.Fatalf("%v in %q", err, text.String())
		}
		if total := families["muster_test_total"].Metric; len(total) != 1 || !math.IsInf(total[0].GetCounter().GetValue(), 1) {
			t.Errorf("found the count %v", total)
		}
		found := families["muster_test"]
		if found.GetHelp() != strings.ToValidUTF8(f.help, "\uFFFD") || len(found.Metric) != len(want) {
			t.Fatalf("found %v, want the help %q and %d series", found, f.help, len(want))
		}
		for _, m := range found.Metric {
			if m.Label[0].GetName() != "fleet" || m.Label[1].GetName() != "queue" {
				t.Fatalf("the labels %v are not in the order of their names", m.Label)
			}
			if v, ok := want[[2]string{m.Label[0].GetValue(), m.Label[1].GetValue()}]; !ok || v != m.GetGauge().GetValue() {
				t.Errorf("found %v, want %v", m, want)
			}
		}
	})
}
