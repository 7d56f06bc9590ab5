package cloudwatch_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awscloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/smithy-go/encoding/cbor"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/cloudwatch"
	"github.com/muster-scale/muster/worker/protocol"
)

// service takes PutMetricData as CloudWatch does over the wire: RPC v2 with CBOR, perhaps compressed.
type service struct {
	t        *testing.T
	status   int // of its answers
	requests []cbor.Map
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			s.t.Error(err)
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		s.t.Error(err)
	}
	value, err := cbor.Decode(text)
	request, ok := value.(cbor.Map)
	if err != nil || !ok || r.URL.Path != "/service/GraniteServiceVersion20100801/operation/PutMetricData" ||
		r.Header.Get("Authorization") == "" {
		s.t.Errorf("found %s %s with %T (%v)", r.Method, r.URL.Path, value, err)
	}
	s.requests = append(s.requests, request)
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	w.WriteHeader(s.status)
	answer := cbor.Map{}
	if s.status != http.StatusOK {
		answer = cbor.Map{"__type": cbor.String("com.amazonaws.cloudwatch#InternalServiceFault"),
			"Message": cbor.String("try later")}
	}
	w.Write(cbor.Encode(answer))
}

// serve returns a service and a sink of the real client that reaches it.
func serve(t *testing.T, o cloudwatch.Options) (*service, *cloudwatch.Sink) {
	t.Helper()
	s := &service{t: t, status: http.StatusOK}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	sink, err := cloudwatch.New(awscloudwatch.New(awscloudwatch.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, sink
}

func float(t *testing.T, v cbor.Value) float64 {
	t.Helper()
	f, err := cbor.AsFloat64(v)
	if err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	return f
}

var minute = time.Date(2026, 3, 1, 12, 3, 0, 0, time.UTC)

func digest(r protocol.Report) worker.Digest {
	r.SentAt = minute.Add(7 * time.Second)
	return worker.Digest{Report: r, Period: minute, Every: time.Minute}
}

func TestTheServiceGetsOneDatumOfEachMetric(t *testing.T) {
	s, sink := serve(t, cloudwatch.Options{Fleet: "jobs"})
	d := digest(protocol.Report{State: protocol.Receiving, Slots: 4,
		Processing: series.Add(series.Durations{}, time.Second, time.Second, 4*time.Second)})
	if err := sink.Take(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if len(s.requests) != 1 || s.requests[0]["Namespace"] != cbor.String("Muster") {
		t.Fatalf("found the requests %v, want one in the namespace Muster", s.requests)
	}
	data := s.requests[0]["MetricData"].(cbor.List)
	if len(data) != 2 {
		t.Fatalf("found %d data, want 2", len(data))
	}
	total, mpd := data[0].(cbor.Map), data[1].(cbor.Map)
	for _, m := range []cbor.Map{total, mpd} {
		at, err := cbor.AsTime(m["Timestamp"])
		dimension := m["Dimensions"].(cbor.List)[0].(cbor.Map)
		if err != nil || !at.Equal(minute) || float(t, m["StorageResolution"]) != 60 ||
			dimension["Name"] != cbor.String("Fleet") || dimension["Value"] != cbor.String("jobs") {
			t.Errorf("found %v at %s (%v)", m, at, err)
		}
	}
	if total["MetricName"] != cbor.String("TotalWorkers") || float(t, total["Value"]) != 4 ||
		total["Unit"] != cbor.String("Count") {
		t.Errorf("found %v, want 4 TotalWorkers", total)
	}
	values, counts := mpd["Values"].(cbor.List), mpd["Counts"].(cbor.List)
	sum, n := 0.0, 0.0
	for i := range values {
		sum += float(t, values[i]) * float(t, counts[i])
		n += float(t, counts[i])
	}
	if mpd["MetricName"] != cbor.String("MPD") || mpd["Unit"] != cbor.String("Seconds") || n != 3 ||
		math.Abs(sum-6) > 1e-9 {
		t.Errorf("found %v of %v s in all, want 3 of 6 s", n, sum)
	}
}

func TestWhatAWorkerAddsToTheSlotsOfItsFleet(t *testing.T) {
	for _, row := range []struct {
		name  string
		r     protocol.Report
		extra bool
		want  float64 // -1 for no datum
	}{
		{"one that takes messages: its slots", protocol.Report{State: protocol.Receiving, Slots: 4, Busy: 1}, false, 4},
		{"one that takes no more: what it holds", protocol.Report{State: protocol.Draining, Slots: 4, Busy: 1}, false,
			1},
		{"an idle one that takes none", protocol.Report{State: protocol.Idle, Slots: 4}, false, 0},
		{"a second digest of a period says nothing of slots, or they would count twice",
			protocol.Report{State: protocol.Receiving, Slots: 4, Finished: 1,
				Processing: series.Add(series.Durations{}, time.Second)}, true, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, sink := serve(t, cloudwatch.Options{Namespace: "YourApp"})
			d := digest(row.r)
			d.Extra = row.extra
			if err := sink.Take(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			got := -1.0
			for _, m := range s.requests[0]["MetricData"].(cbor.List) {
				m := m.(cbor.Map)
				if m["MetricName"] == cbor.String("TotalWorkers") {
					got = float(t, m["Value"])
				}
				if _, ok := m["Dimensions"]; ok {
					t.Error("found a dimension without a fleet")
				}
			}
			if got != row.want || s.requests[0]["Namespace"] != cbor.String("YourApp") {
				t.Errorf("found %v in the namespace %v, want %v", got, s.requests[0]["Namespace"], row.want)
			}
		})
	}
}

func TestACallThatFailsIsNotMadeAgain(t *testing.T) {
	s, sink := serve(t, cloudwatch.Options{})
	s.status = http.StatusInternalServerError
	err := sink.Take(t.Context(), digest(protocol.Report{State: protocol.Receiving, Slots: 1}))
	if err == nil || !strings.Contains(err.Error(), "InternalServiceFault: try later") ||
		!strings.Contains(err.Error(), "namespace Muster") {
		t.Errorf("found the error %v", err)
	}
	if len(s.requests) != 1 {
		t.Errorf("found %d calls, want one: it may have been carried out, and slots would count twice", len(s.requests))
	}
}

func TestPeriodsBelowAMinuteAreOfHighResolution(t *testing.T) {
	s, sink := serve(t, cloudwatch.Options{})
	d := digest(protocol.Report{State: protocol.Receiving, Slots: 1})
	d.Every = 10 * time.Second
	if err := sink.Take(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := float(t, s.requests[0]["MetricData"].(cbor.List)[0].(cbor.Map)["StorageResolution"]); got != 1 {
		t.Errorf("found the storage resolution %v, want 1", got)
	}
}

// many returns a histogram that has durations of all sizes.
func many(n int) series.Durations {
	var all []time.Duration
	for i := range n {
		all = append(all, time.Duration(float64(time.Millisecond)*math.Pow(1.05, float64(i%400))))
	}
	return series.Add(series.Durations{}, all...)
}

func TestADatumHasNoMoreValuesThanAllowed(t *testing.T) {
	s, sink := serve(t, cloudwatch.Options{Fleet: "jobs"})
	h := many(4000)
	report := protocol.Report{State: protocol.Receiving, Slots: 1, Processing: h}
	if err := sink.Take(t.Context(), digest(report)); err != nil {
		t.Fatal(err)
	}
	n, sum := 0.0, 0.0
	for _, m := range s.requests[0]["MetricData"].(cbor.List)[1:] {
		values, counts := m.(cbor.Map)["Values"].(cbor.List), m.(cbor.Map)["Counts"].(cbor.List)
		if len(values) > 150 || len(values) != len(counts) {
			t.Errorf("found a datum with %d values and %d counts", len(values), len(counts))
		}
		for i := range values {
			n += float(t, counts[i])
			sum += float(t, counts[i]) * float(t, values[i])
		}
	}
	if n != 4000 || math.Abs(sum/h.SumSeconds-1) > 1e-9 {
		t.Errorf("found %v durations of %v s in all, want 4000 of %v", n, sum, h.SumSeconds)
	}
}

func TestValuesKeepTheMeanAndNearlyTheQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.SliceOfN(rapid.Float64Range(0, 1e5), 1, 300).Draw(t, "seconds")
		var all []time.Duration
		for _, s := range seconds {
			all = append(all, time.Duration(s*1e9))
		}
		h := series.Add(series.Durations{}, all...)
		sum, n, last := 0.0, int64(0), -1.0
		for _, v := range cloudwatch.Values(h) {
			if v.Seconds < last || v.Count < 1 {
				t.Fatalf("found %v after %v", v, last)
			}
			sum, n, last = sum+v.Seconds*float64(v.Count), n+v.Count, v.Seconds
		}
		if n != h.Count || math.Abs(sum-h.SumSeconds) > 1e-9*(1+h.SumSeconds) {
			t.Fatalf("found %d of %v s in all, want %d of %v", n, sum, h.Count, h.SumSeconds)
		}
		if longest := series.Quantile(h, 1); math.Abs(last-longest) > 2.5*series.Accuracy*longest+1e-5 {
			t.Fatalf("the longest is %v, want about %v", last, longest)
		}
	})
}

// line is a line in the embedded metric format.
type line struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct {
				Name, Unit        string
				StorageResolution int
			}
		}
	} `json:"_aws"`
	Fleet        string
	TotalWorkers *float64
	MPD          []float64
}

func lines(t *testing.T, d worker.Digest) (all []line) {
	t.Helper()
	var out bytes.Buffer
	sink, err := cloudwatch.NewLines(&out, cloudwatch.Options{Fleet: "jobs"})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Take(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(out.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil || len(text) > 256<<10 {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		all = append(all, l)
	}
	return all
}

func TestLinesHaveTheEmbeddedMetricFormat(t *testing.T) {
	all := lines(t, digest(protocol.Report{State: protocol.Receiving, Slots: 3,
		Processing: series.Add(series.Durations{}, time.Second, 3*time.Second)}))
	if len(all) != 1 {
		t.Fatalf("found %d lines, want 1", len(all))
	}
	l := all[0]
	directive := l.AWS.CloudWatchMetrics[0]
	if l.AWS.Timestamp != minute.UnixMilli() || directive.Namespace != "Muster" || len(directive.Dimensions) != 1 ||
		len(directive.Dimensions[0]) != 1 || directive.Dimensions[0][0] != "Fleet" || l.Fleet != "jobs" {
		t.Errorf("found %+v", l)
	}
	if len(directive.Metrics) != 2 || *l.TotalWorkers != 3 || len(l.MPD) != 2 || math.Abs(l.MPD[0]+l.MPD[1]-4) > 1e-9 {
		t.Errorf("found the metrics %+v with %v slots and the durations %v", directive.Metrics, *l.TotalWorkers, l.MPD)
	}
	for _, m := range directive.Metrics {
		if m.StorageResolution != 60 {
			t.Errorf("%s has the resolution %d, want 60", m.Name, m.StorageResolution)
		}
	}
}

func TestLinesOfManyMessagesAreBoundedAndKeepTheMean(t *testing.T) {
	for _, row := range []struct {
		messages, lines, numbers int
	}{{0, 1, 0}, {100, 1, 100}, {101, 2, 101}, {5000, 50, 5000}, {123_456, 50, 5000}} {
		h := many(row.messages)
		all := lines(t, digest(protocol.Report{State: protocol.Receiving, Slots: 3, Processing: h}))
		numbers, slots, sum := 0, 0, 0.0
		for _, l := range all {
			if len(l.MPD) > 100 {
				t.Errorf("found %d numbers in a line, allowed are 100", len(l.MPD))
			}
			if l.TotalWorkers != nil {
				slots++
			}
			numbers += len(l.MPD)
			for _, s := range l.MPD {
				sum += s
			}
		}
		if len(all) != row.lines || numbers != row.numbers || slots != 1 {
			t.Errorf("%d messages are %d lines with %d numbers, and %d with slots; want %d, %d and 1", row.messages,
				len(all), numbers, slots, row.lines, row.numbers)
		}
		if row.messages > 0 && math.Abs(sum/float64(numbers)/(h.SumSeconds/float64(h.Count))-1) > 1e-9 {
			t.Errorf("%d messages have the mean %v in their lines, want %v", row.messages, sum/float64(numbers),
				h.SumSeconds/float64(h.Count))
		}
	}
}

func TestNamesThatTheServiceRefuses(t *testing.T) {
	for _, o := range []cloudwatch.Options{{Namespace: "AWS/SQS"}, {Namespace: "a b"},
		{Namespace: strings.Repeat("n", 256)}, {Fleet: "é"}, {Fleet: strings.Repeat("f", 1025)}} {
		if _, err := cloudwatch.New(nil, o); err == nil || !strings.Contains(err.Error(), "allowed are") {
			t.Errorf("%+v gave the error %v", o, err)
		}
		if _, err := cloudwatch.NewLines(nil, o); err == nil {
			t.Errorf("%+v was taken for lines", o)
		}
	}
}
