package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/outlook"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/server"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text to a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with go test ./server -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); if that is meant, run go test ./server -update:\n%s", path, diff)
	}
}

// indented renders JSON with the instant of the answer taken out.
func indented(t *testing.T, body []byte, at time.Time) []byte {
	t.Helper()
	if !at.IsZero() {
		text, _ := json.Marshal(at)
		body = bytes.Replace(body, append([]byte(`"at":`), text...), []byte(`"at":"now"`), 1)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return b.Bytes()
}

func TestStatusShowsEveryFleet(t *testing.T) {
	w := newWorld(t)
	text, err := json.Marshal(server.NewStatus("v0.0.0-test", t0.Add(3*time.Second), w.fleets(), nil))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "status.json", indented(t, text, time.Time{}))
}

func TestStatusIsServedAsItIsNow(t *testing.T) {
	w := newWorld(t)
	before := time.Now()
	answer := w.ask("GET", "/v1/status", "")
	wants(t, answer, http.StatusOK)
	var got server.Status
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.At.Before(before) || got.At.After(time.Now()) || got.At.Location() != time.UTC {
		t.Errorf("the status is of %v, want now in UTC", got.At)
	}
	text, err := json.Marshal(server.NewStatus("v0.0.0-test", got.At, w.fleets(), nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text)+"\n", answer.Body.String()); diff != "" ||
		answer.Header().Get("Content-Type") != "application/json" {
		t.Errorf("served as %s (-want +got):\n%s", answer.Header().Get("Content-Type"), diff)
	}
}

func TestDecisionsComeNewestFirst(t *testing.T) {
	w := newWorld(t)
	answer := w.ask("GET", "/v1/decisions?fleet=a", "")
	wants(t, answer, http.StatusOK)
	golden(t, "decisions.json", indented(t, answer.Body.Bytes(), time.Time{}))
}

func TestAsManyDecisionsAsWereAskedFor(t *testing.T) {
	many := func(w *world) {
		for len(w.past.records) < 1200 {
			w.past.records = append(w.past.records, w.past.records[0])
		}
	}
	tests := []struct {
		query string
		code  int
		n     int
		says  string
	}{
		{"fleet=a", 200, 20, ""},
		{"fleet=a&limit=", 200, 20, ""},
		{"fleet=a&limit=1", 200, 1, ""},
		{"fleet=a&limit=1000", 200, 1000, ""},
		{"fleet=a&limit=1001", 400, 0, "allowed is 1 to 1000"},
		{"fleet=a&limit=0", 400, 0, `found \"0\", allowed is 1 to 1000`},
		{"fleet=a&limit=-1", 400, 0, "allowed is 1 to 1000"},
		{"fleet=a&limit=1e3", 400, 0, "allowed is 1 to 1000"},
		{"fleet=a&limit=99999999999999999999999999", 400, 0, "allowed is 1 to 1000"},
		{"fleet=a&limit=all", 400, 0, `found \"all\"`},
		{"fleet=z", 404, 0, `there is no fleet \"z\"; give ?fleet=NAME`},
		{"", 404, 0, "give ?fleet=NAME"},
		{"fleet=" + strings.Repeat("z", 9999), 404, 0, "there is no fleet"},
	}
	for _, test := range tests {
		t.Run("?"+test.query[:min(len(test.query), 50)], func(t *testing.T) {
			answer := newWorld(t, many).ask("GET", "/v1/decisions?"+test.query, "")
			wants(t, answer, test.code, test.says)
			var got struct{ Decisions []server.DecisionRecord }
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || len(got.Decisions) != test.n {
				t.Errorf("found %d decisions, %v; want %d", len(got.Decisions), err, test.n)
			}
			if test.code != 200 && answer.Body.Len() > 500 {
				t.Errorf("the answer is %d bytes long", answer.Body.Len())
			}
		})
	}
}

func TestDecisionsThatCannotBeRead(t *testing.T) {
	w := newWorld(t, func(w *world) { w.past = past{err: errors.New("disk gone")} })
	wants(t, w.ask("GET", "/v1/decisions?fleet=a", ""), http.StatusInternalServerError, "disk gone")
	w = newWorld(t, func(w *world) {
		w.past = past{records: []muster.Record{{Position: muster.Position{Seq: 7}, Body: []byte("{")}}}
	})
	wants(t, w.ask("GET", "/v1/decisions?fleet=a", ""), http.StatusInternalServerError, "read decision 7")
	w = newWorld(t, func(w *world) { w.past = past{} })
	wants(t, w.ask("GET", "/v1/decisions?fleet=a", ""), http.StatusOK, `{"decisions":[]}`)
}

func TestMetricsSayWhatIsKnownAndOnlyThat(t *testing.T) {
	w := newWorld(t)
	answer := w.ask("GET", "/metrics", "")
	wants(t, answer, http.StatusOK,
		`muster_signal_known{fleet="a",queue="jobs",signal="backlog"} 1`,
		`muster_queue_backlog{fleet="a",queue="jobs"} 39`,
		`muster_queue_oldest_age_seconds{fleet="a",queue="jobs"} 2.5`, `muster_members{fleet="a",state="busy"} 1`,
		`muster_slots{fleet="a"} 2`,
		`muster_signal_known{fleet="a",queue="",signal="capacity"} 1`,
		`muster_signal_known{fleet="a",queue="jobs",signal="delayed"} 0`,
		`muster_fleet_sized{fleet="a"} 1`, `muster_fleet_sized{fleet="b"} 0`, `muster_messages_working{fleet="a"} 1`,
		`muster_signal_known{fleet="a",queue="",signal="working"} 1`,
		`muster_signal_known{fleet="a",queue="",signal="retrying"} 0`,
		`muster_signal_known{fleet="a",queue="",signal="in_time"} 0`, `muster_attempts_failed_lately{fleet="a"} 0`)
	seen := strings.ReplaceAll(answer.Body.String(), `muster_fleet_sized{fleet="b"}`, "")
	for _, not := range []string{"muster_queue_delayed", "muster_messages_retrying", "muster_in_time_ratio",
		"muster_failing_mean", "muster_last_error", `fleet="b"`, "go_", secret} {
		if strings.Contains(seen, not) {
			t.Errorf("the metrics say %q:\n%s", not, answer.Body)
		}
	}
}

func TestMetricsSayWhatTheObjectiveHasToExpect(t *testing.T) {
	w := newWorld(t)
	e := outlook.ArrivingNow(w.steps[2].Observation, w.steps[2].Decision.Desired)
	if !e.Known || e.Seconds <= 3 || e.InTime <= 0 {
		t.Fatalf("found %+v: the test would prove nothing", e)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	wants(t, w.ask("GET", "/metrics", ""), http.StatusOK, `muster_expected_time_seconds{fleet="a"} `+number(e.Seconds)+
		"\n",
		`muster_objective_chance{fleet="a"} `+number(e.InTime)+"\n", `muster_cost_per_hour{fleet="a"} 1.25`)

	for name, change := range map[string]func(*controller.Outcome){
		"without a backlog":         func(o *controller.Outcome) { o.Observation.Queues = nil },
		"without a worker":          func(o *controller.Outcome) { o.Decision.Desired = 0 },
		"while nothing is measured": func(o *controller.Outcome) { o.Observation.Processing = muster.Estimate{} },
		"while it cannot be listed": func(o *controller.Outcome) { o.Observation.Capacity.Known = false },
		"before all was seen":       func(o *controller.Outcome) { o.Ready = false },
	} {
		last := w.steps[2]
		change(&last)
		w.a.last = &last
		if body := w.ask("GET", "/metrics", "").Body.String(); strings.Contains(body, "muster_expected_time_seconds") ||
			strings.Contains(body, "muster_objective_chance") {
			t.Errorf("%s the metrics say what to expect:\n%s", name, body)
		}
	}
}

func TestMetricsSayWhatAShadowWouldAskFor(t *testing.T) {
	w := newWorld(t)
	if body := w.ask("GET", "/metrics", "").Body.String(); strings.Contains(body, "muster_shadow_desired") {
		t.Errorf("the metrics speak of a shadow although Muster sizes the fleet:\n%s", body)
	}
	last := w.steps[2]
	last.Decision.Verdict, last.Decision.Desired = muster.Shadow, 17
	w.a.last = &last
	wants(t, w.ask("GET", "/metrics", ""), http.StatusOK, `muster_shadow_desired{fleet="a"} 17`)
}

func TestMetricsOfAFleetThatCannotBeListedCountNoMembers(t *testing.T) {
	w := newWorld(t)
	blind := w.steps[0]
	blind.Ready = false
	blind.Observation.Capacity = muster.Capacity{Reason: "it was not listed yet"}
	w.a.last = &blind
	answer := w.ask("GET", "/metrics", "")
	wants(t, answer, http.StatusOK, `muster_signal_known{fleet="a",queue="",signal="capacity"} 0`)
	for _, not := range []string{"muster_members{", "muster_slots", "muster_busy_slots", "muster_desired"} {
		if strings.Contains(answer.Body.String(), not) {
			t.Errorf("the metrics say %s although the fleet is unknown:\n%s", not, answer.Body)
		}
	}
}

func TestMetricsAreNamedAsTheyShouldBe(t *testing.T) {
	w := newWorld(t)
	m := server.NewMetrics(w.fleets, nil)
	for _, o := range w.steps {
		m.Count(o)
	}
	var page exposition.Page
	m.Collect(&page)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(bytes.NewReader(page.Bytes()))
	if err != nil {
		t.Fatalf("%v, in\n%s", err, page.Bytes())
	}
	families := slices.Collect(maps.Values(read))
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("found %v, %v", problems, err)
	}
	total := 0.0
	for _, f := range families {
		if f.GetName() == "muster_decisions_total" {
			for _, s := range f.Metric {
				total += s.GetCounter().GetValue()
			}
		}
	}
	if total != float64(len(w.steps)) {
		t.Errorf("%v steps were counted, want %d", total, len(w.steps))
	}
}
