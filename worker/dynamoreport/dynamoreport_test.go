package dynamoreport_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

func serve(t *testing.T) (*mustertest.ReportTable, *dynamoreport.Table) {
	t.Helper()
	s := mustertest.NewReportTable("reports", 2)
	table, err := dynamoreport.New(dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://dynamodb.test"),
		HTTPClient: mustertest.InProcess{Handler: s}, Credentials: credentials.NewStaticCredentialsProvider("id",
			"secret", ""),
	}), "reports")
	if err != nil {
		t.Fatal(err)
	}
	return s, table
}

var (
	noon    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	started = noon.Add(-time.Hour)
)

// says is a digest of the named worker with so many messages finished in all.
func says(name string, seq int64, at time.Time, seconds ...time.Duration) worker.Digest {
	h := series.Add(series.Durations{}, seconds...)
	return worker.Digest{
		Report: protocol.Report{Fleet: "jobs", Member: name, Worker: name, Seq: seq, Epoch: 1, SentAt: at,
			State: protocol.Receiving, Slots: 2, Busy: 1},
		Total: worker.Counts{Finished: int64(len(seconds)), Processing: h,
			Classes: map[string]series.Durations{"thumbnail": h}}, Started: started,
	}
}

func take(t *testing.T, table *dynamoreport.Table, digests ...worker.Digest) {
	t.Helper()
	for _, d := range digests {
		if err := table.Take(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, table *dynamoreport.Table, now time.Time) []dynamoreport.Entry {
	t.Helper()
	entries, err := table.Read(t.Context(), "jobs", now)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestAControllerReadsWhatWorkersSaidLast(t *testing.T) {
	s, table := serve(t)
	take(t, table, says("c", 1, noon), says("a", 1, noon), says("b", 1, noon), says("d", 1, noon), says("e", 1, noon))
	take(t, table, says("a", 2, noon, time.Second, 2*time.Second))
	other := says("x", 1, noon)
	other.Report.Fleet = "others"
	take(t, table, other)
	entries := read(t, table, noon)
	var names []string
	for _, e := range entries {
		names = append(names, e.Report.Worker)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := says("a", 2, noon).Report
	want.Finished, want.Processing = 2, series.Add(series.Durations{}, time.Second, 2*time.Second)
	want.Classes = map[string]series.Durations{"thumbnail": want.Processing}
	if diff := cmp.Diff(dynamoreport.Entry{Report: want, Started: started}, entries[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Do(func(entries map[string]mustertest.Attributes) {
		if len(entries) != 6 {
			t.Errorf("found %d entries, want one for each worker", len(entries))
		}
	})
	if n := s.Calls("PutItem"); n != 7 {
		t.Errorf("found %d puts, want 7", n)
	}
}

func TestAnEntryThatComesLateChangesNothing(t *testing.T) {
	_, table := serve(t)
	take(t, table, says("a", 5, noon, time.Second), says("a", 4, noon), says("a", 5, noon))
	if got := read(t, table, noon)[0].Report; got.Seq != 5 || got.Finished != 1 {
		t.Errorf("found %+v, want the newest", got)
	}
}

func TestEntriesExpire(t *testing.T) {
	s, table := serve(t)
	take(t, table, says("a", 1, noon), says("b", 1, noon.Add(time.Minute)))
	if got := read(t, table, noon.Add(dynamoreport.Keep)); len(got) != 1 || got[0].Report.Worker != "b" {
		t.Errorf("found %+v, want b alone", got)
	}
	s.Do(func(entries map[string]mustertest.Attributes) {
		for _, e := range entries {
			if n, err := strconv.ParseInt(e["expires"]["N"], 10, 64); err != nil ||
				n < noon.Add(dynamoreport.Keep).Unix() {
				t.Errorf("found the time to live %v", e["expires"])
			}
		}
	})
}

func TestWhatAWorkerDidSinceAnEarlierEntry(t *testing.T) {
	entry := func(d worker.Digest) dynamoreport.Entry {
		_, table := serve(t)
		take(t, table, d)
		return read(t, table, noon)[0]
	}
	first := entry(says("a", 1, noon, time.Second))
	again := says("a", 9, noon, 3*time.Second)
	again.Started = noon
	for _, row := range []struct {
		name   string
		before dynamoreport.Entry
		now    worker.Digest
		n      int64
		sum    float64
	}{
		{"nothing", first, says("a", 2, noon, time.Second), 0, 0},
		{"two more messages", first, says("a", 2, noon, time.Second, 2*time.Second, 4*time.Second), 2, 6},
		{"all, of one that is heard of for the first time", dynamoreport.Entry{},
			says("a", 2, noon, time.Second, 2*time.Second), 2, 3},
		{"all, of one that was started again", first, again, 1, 3},
		{"all, of another worker", first, says("b", 2, noon, 2*time.Second), 1, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := entry(row.now).Since(row.before)
			if got.Finished != row.n || got.Processing.Count != row.n || got.Processing.SumSeconds != row.sum ||
				got.Classes["thumbnail"].Count != row.n {
				t.Errorf("found %+v, want %d messages of %v s", got, row.n, row.sum)
			}
		})
	}
}

func TestAnEntryIsBounded(t *testing.T) {
	s, table := serve(t)
	var all []time.Duration
	for i := range 700 {
		all = append(all, time.Duration(float64(10*time.Microsecond)*pow(1.04, i)))
	}
	d := says("a", 1, noon, all...)
	d.Total.Classes = map[string]series.Durations{}
	for i := range protocol.MaxClasses + 1 {
		d.Total.Classes[strings.Repeat("c", 60)+strconv.Itoa(i)] = d.Total.Processing
	}
	take(t, table, d)
	if n := s.Largest(); n > dynamoreport.MaxReport*2 {
		t.Errorf("the request has %d bytes", n)
	}
	if got := read(t, table, noon)[0].Report; got.Finished != 700 || got.Processing.Count != 700 || got.Classes != nil {
		t.Errorf("found %d messages, %d durations and %d classes; want 700, 700 and none", got.Finished,
			got.Processing.Count, len(got.Classes))
	}
}

func pow(base float64, n int) float64 {
	p := 1.0
	for range n {
		p *= base
	}
	return p
}

func TestEntriesThatNobodyCanBelieve(t *testing.T) {
	s, table := serve(t)
	take(t, table, says("a", 1, noon), says("b", 1, noon), says("c", 1, noon), says("d", 1, noon))
	s.Do(func(entries map[string]mustertest.Attributes) {
		for _, e := range entries {
			switch e["worker"]["S"] {
			case `"a""a"`:
				e["report"]["S"] = "{"
			case `"b""b"`:
				e["report"]["S"] = strings.Replace(e["report"]["S"], `"busy":1`, `"busy":9`, 1)
			case `"c""c"`:
				delete(e, "expires")
			}
		}
	})
	entries, err := table.Read(t.Context(), "jobs", noon)
	if len(entries) != 1 || entries[0].Report.Worker != "d" {
		t.Errorf("found %+v, want d alone", entries)
	}
	for _, want := range []string{`"a""a"`, "found 9 busy slots", `"c""c"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

func TestTablesThatCannotBe(t *testing.T) {
	for _, name := range []string{"", "ab", "a b", "ä-table", strings.Repeat("n", 256)} {
		if _, err := dynamoreport.New(nil, name); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}
