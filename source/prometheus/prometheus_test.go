package prometheus_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/source/prometheus"
)

func TestWhatGivesNoNumberIsUnknown(t *testing.T) {
	vector := func(series ...string) string {
		return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(series, ",") + `]}}`
	}
	one := func(v string) string { return `{"metric":{},"value":[1700000000.1,"` + v + `"]}` }
	for _, row := range []struct {
		name, body string
		code       int
		known      bool
		value      float64
		reason     string
	}{
		{"one series", vector(one("48")), 200, true, 48, ""},
		{"a zero that was stated", vector(one("0")), 200, true, 0, ""},
		{"a scalar", `{"status":"success","data":{"resultType":"scalar","result":[1700000000,"2.5"]}}`, 200, true, 2.5,
			""},
		{"no series", vector(), 200, false, 0, "absent or stale"},
		{"two series", vector(one("1"), one("2")), 200, false, 0, "2 series where one is meant: put a sum(...)"},
		{"not a number", vector(one("NaN")), 200, false, 0, `"NaN", which is no number`},
		{"infinite", vector(one("+Inf")), 200, false, 0, "which is no number"},
		{"below zero", vector(one("-3")), 200, false, 0, "-3, which is below zero"},
		{"a range", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, 200, false, 0,
			"gives a matrix, allowed are"},
		{"a text", `{"status":"success","data":{"resultType":"string","result":[1,"x"]}}`, 200, false, 0,
			"gives a string"},
		{"a histogram", vector(`{"metric":{},"histogram":[1,{"count":"3"}]}`), 200, false, 0, "no number"},
		{"a query that is none", `{"status":"error","errorType":"bad_data","error":"parse error: unexpected end"}`, 400,
			false, 0,
			"refuses the query: parse error"},
		{"a partial answer", strings.Replace(vector(one("1")), "{", `{"warnings":["one store did not answer"],`, 1),
			200, false, 0,
			"warns: one store did not answer"},
		{"no permission", "go away", 403, false, 0, "answers 403 Forbidden"},
		{"another server", "<html>", 200, false, 0, "does not answer as Prometheus does"},
		{"a redirect", "", 302, false, 0, "answers 302 Found"},
		{"a value that is no list", vector(`{"metric":{},"value":7}`), 200, false, 0, "cannot be read"},
	} {
		t.Run(row.name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/sub/api/v1/query" || r.FormValue("query") != "sum(up)" ||
					r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("asked %s for %q with %q", r.URL, r.FormValue("query"), r.Header.Get("Authorization"))
				}
				w.WriteHeader(row.code)
				fmt.Fprint(w, row.body)
			}))
			defer web.Close()
			q := observe(t, prometheus.Options{
				Queue: "f", URL: web.URL + "/sub/", Token: "secret", Interval: 15 * time.Second,
				Queries: map[kind.Quantity]string{kind.Backlog: "sum(up)"},
			})
			if q.Backlog.Known != row.known || q.Backlog.Value != row.value ||
				!strings.Contains(q.Backlog.Reason, row.reason) {
				t.Errorf("found %+v, want known %t, %v, %q", q.Backlog, row.known, row.value, row.reason)
			}
			if q.InFlight.Known || q.LateSeconds != 15 || q.Queue != "f" {
				t.Errorf("found %+v, want what was not asked for unknown, and numbers late by the interval", q)
			}
		})
	}
}

func observe(t *testing.T, o prometheus.Options) muster.QueueObservation {
	t.Helper()
	s, err := prometheus.New(o)
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestAServerThatIsAwayIsUnknown(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	web.Close()
	q := observe(t, prometheus.Options{Queue: "f", URL: web.URL,
		Queries: map[kind.Quantity]string{kind.OldestAge: "x"}})
	if q.OldestAge.Known || strings.Count(q.OldestAge.Reason, web.URL) != 1 {
		t.Errorf("found %+v, want unknown, with the place said once", q.OldestAge)
	}
}

func TestKeepsTheContractOfASource(t *testing.T) {
	mustertest.SourceConformance(t, func(t *testing.T, test func(*testing.T, muster.Source, func(int))) {
		var waiting atomic.Int64
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"%d"]}}`, waiting.Load())
		}))
		defer web.Close()
		s, err := prometheus.New(prometheus.Options{Queue: "f", URL: web.URL,
			Queries: map[kind.Quantity]string{kind.Backlog: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		test(t, s, func(n int) { waiting.Add(int64(n)) })
	})
}

// TestAFleetIsMeasuredByPrometheus holds the way from a configuration to an observation.
func TestAFleetIsMeasuredByPrometheus(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"%d"]}]}}`,
			len(r.FormValue("query")))
	}))
	defer web.Close()
	c, err := kinds.Parse("m.yaml", []byte(`version: 1
fleets:
  - {name: f, max: 9, workers: {command: x}, prometheus: {url: "`+web.URL+`", interval: 15s, backlog: a, in_flight: bb, processing: ccc}}
`))
	if err != nil {
		t.Fatal(err)
	}
	f := c.Fleets[0]
	if f.Poll != 5*time.Second {
		t.Errorf("the poll is %s, want 5s where another's service is asked", f.Poll)
	}
	source, err := kind.SignalsOf(f)[0].Open(t.Context(), kind.NewHost(kind.HostOptions{}), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := source.Observe(t.Context())
	if err != nil || q.Backlog.Value != 1 || q.InFlight.Value != 2 || q.Published.Value().ProcessingMean.Value != 3 ||
		q.OldestAge.Known {
		t.Errorf("found %+v, %v", q, err)
	}
}

func TestFaultsOfItsKeys(t *testing.T) {
	for _, row := range []struct{ name, keys, want string }{
		{"no URL", `backlog: x`, "found no url, allowed is a URL, as in http://prometheus:9090"},
		{"a token without encryption", `url: "http://p.example.com", token: x, backlog: x`,
			"found a token for a server without encryption"},
		{"another protocol", `url: "ftp://p.example.com", backlog: x`, "allowed is a URL, as in"},
		{"credentials in the URL", `url: "https://me:secret@p.example.com", backlog: x`,
			"a token has a key of its own"},
		{"no query", `url: "http://127.0.0.1:9090"`, "found no query, allowed are backlog, in_flight, delayed, " +
			"oldest_age, processing"},
		{"an empty query", `url: "http://127.0.0.1:9090", backlog: " "`, "found a query of 1 bytes"},
		{"no backlog and no queue", `url: "http://127.0.0.1:9090", processing: x`, "found no backlog for a fleet " +
			"without a queue"},
		{"too fast", `url: "http://127.0.0.1:9090", backlog: x, interval: 1ms`, "found 1ms, allowed is 1s to 1h"},
		{"a misspelt signal", `url: "http://127.0.0.1:9090", backlgo: x`, "unknown key \"backlgo\""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := kinds.Parse("m.yaml",
				[]byte("version: 1\nfleets: [{name: f, max: 9, workers: {command: x}, prometheus: {"+row.keys+"}}]\n"))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("found %v, want %q", err, row.want)
			}
		})
	}
}

var _ config.Signal = (*prometheus.Config)(nil)
