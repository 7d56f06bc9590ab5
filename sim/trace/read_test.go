package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/statistics"
)

// in writes a file of that name and returns its path.
func in(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// all returns the messages of a trace.
func all(t trace.Trace) (messages []trace.Message, err error) {
	err = t.Each(func(m trace.Message) bool {
		messages = append(messages, m)
		return true
	})
	return messages, err
}

const job = " 1 10 1 5 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n"

func swfJob(submit, run, status string) string {
	return "7 " + submit + " 3 " + run + " 4 -1 -1 4 -1 -1 " + status + " 1 1 1 1 1 -1 -1\n"
}

func TestWhatIsRead(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		name, file, content string
		options             trace.Options
		want                []trace.Message
	}{
		{"csv", "a.csv", "arrival_s,service_s\n0,1.5\n2.000000001,0\n", trace.Options{},
			[]trace.Message{{Service: 1500 * ms}, {Arrival: 2*s + 1}}},
		{"columns in any order", "a.csv", "group,service_s,class,arrival_s\ng1,1,resize,3\n,2,,4\n", trace.Options{},
			[]trace.Message{{Arrival: 3 * s, Service: s, Class: "resize", Group: "g1"},
				{Arrival: 4 * s, Service: 2 * s}}},
		{"ends of lines, blank lines, spaces, a byte order mark, no last end", "a.txt", "\xef\xbb\xbfarrival_s, " +
			"service_s\r\n\r\n 1 ,\t2\r\n  \n3,4", trace.Options{},
			[]trace.Message{{Arrival: s, Service: 2 * s}, {Arrival: 3 * s, Service: 4 * s}}},
		{"quotes", "a.csv", "arrival_s,service_s,class\n1,2,\"a \"\"b\"\", c \"\n\"3\",4, d \n", trace.Options{},
			[]trace.Message{{Arrival: s, Service: 2 * s, Class: `a "b", c `},
				{Arrival: 3 * s, Service: 4 * s, Class: "d"}}},
		{"numbers as programs write them", "a.csv",
			"arrival_s,service_s\n-0,0\n+1,.5\n1.,1e1\n0000000000002,2E-3\n2.0000000005,2.0000000004999\n",
			trace.Options{},
			[]trace.Message{{}, {Arrival: s, Service: 500 * ms}, {Arrival: s, Service: 10 * s},
				{Arrival: 2 * s, Service: 2 * ms}, {Arrival: 2*s + 1, Service: 2 * s}}},
		{"gzip, whatever the name", "a.csv", packed(t, "arrival_s,service_s\n0,1\n"), trace.Options{},
			[]trace.Message{{Service: s}}},
		{"two gzip members, one file", "a.csv.gz", packed(t, "arrival_s,service_s\n0,1\n") + packed(t, "1,1\n"),
			trace.Options{},
			[]trace.Message{{Service: s}, {Arrival: s, Service: s}}},
		{"trees", "a.csv", "depth,arrival_s,service_s\n0,1,1\n1,0,2\n2,3,3\n2,4,4\n1,5,5\n0,1,6\n1,0,7\n",
			trace.Options{},
			[]trace.Message{
				{Arrival: s, Service: s, Children: []trace.Message{
					{Service: 2 * s, Children: []trace.Message{{Arrival: 3 * s, Service: 3 * s},
						{Arrival: 4 * s, Service: 4 * s}}},
					{Arrival: 5 * s, Service: 5 * s}}},
				{Arrival: s, Service: 6 * s, Children: []trace.Message{{Service: 7 * s}}}}},
		{"swf by its comment", "log.txt", "; Version: 2.2\n;\n" + job + swfJob("12", "0", "1"), trace.Options{},
			[]trace.Message{{Service: 5 * s}, {Arrival: 2 * s}}},
		{"swf by its fields", "log.txt", job, trace.Options{}, []trace.Message{{Service: 5 * s}}},
		{"swf by its name", "a.SWF.gz", packed(t, job), trace.Options{}, []trace.Message{{Service: 5 * s}}},
		{"swf passes over what is incomplete, cancelled or a part", "a.swf",
			swfJob("-1", "5", "1") + swfJob("9", "-1", "0") + swfJob("9", "0", "5") + swfJob("10", "7",
				"5") + swfJob("11", "1", "2") + swfJob("11", "1", "4") + swfJob("12", "1", "0"),
			trace.Options{}, []trace.Message{{Service: 7 * s}, {Arrival: 2 * s, Service: s}}},
		{"counts by length", "a.csv", "interval_s,count\n10,2\n10,0\n1,1\n", trace.Options{Service: s},
			[]trace.Message{{Arrival: 2500 * ms, Service: s}, {Arrival: 7500 * ms, Service: s},
				{Arrival: 20500 * ms, Service: s}}},
		{"counts by start", "a.csv", "count,start_s\n1,10\n2,14\n1,15\n", trace.Options{Service: s},
			[]trace.Message{{Arrival: 12 * s, Service: s}, {Arrival: 14250 * ms, Service: s},
				{Arrival: 14750 * ms, Service: s}, {Arrival: 15500 * ms, Service: s}}},
		{"a forced format", "a.swf", "arrival_s,service_s\n0,1\n", trace.Options{Format: trace.CSV},
			[]trace.Message{{Service: s}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			read, err := trace.Open(in(t, c.file, c.content), c.options)
			if err != nil {
				t.Fatal(err)
			}
			if read.Name != c.file {
				t.Errorf("the trace is called %q, want %q", read.Name, c.file)
			}
			for range 2 { // a trace can be read as often as needed
				got, err := all(read)
				if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
					t.Errorf("%v\n%s", err, diff)
				}
			}
		})
	}
}

func TestWhatIsWrongInAFile(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	whole := packed(t, "arrival_s,service_s\n"+strings.Repeat("1,2\n", 1000))
	for _, c := range []struct {
		name, file, content string
		options             trace.Options
		want                string // after the file's name
	}{
		{"nothing", "a.csv", "", trace.Options{}, ": found no message; a trace has at least one"},
		{"a header alone", "a.csv", "arrival_s,service_s\n\n", trace.Options{}, ": found no message; a trace has at " +
			"least one"},
		{"no header", "a.csv", "0.0,1.5\n", trace.Options{},
			`:1: found "0.0,1.5", want the names of the columns first: arrival_s,service_s`},
		{"no service", "a.csv", "arrival_s\n1\n", trace.Options{}, ":1: found the columns arrival_s, want arrival_s " +
			"and service_s among them"},
		{"an unknown column", "a.csv", "arrival_s,servce_s\n1,2\n", trace.Options{},
			`:1: found the unknown column "servce_s", allowed are arrival_s, service_s, class, group, depth; did you mean "service_s"?`},
		{"an unknown column", "a.csv", "arrival_s,service_s,temperature\n1,2,3\n", trace.Options{},
			`:1: found the unknown column "temperature", allowed are arrival_s, service_s, class, group, depth`},
		{"a column twice", "a.csv", "arrival_s,arrival_s\n1,2\n", trace.Options{},
			":1: found the column arrival_s twice"},
		{"a field missing", "a.csv", "arrival_s,service_s\n1,2\n\n3\n", trace.Options{},
			`:4: found "3", want 2 fields: arrival_s,service_s`},
		{"a field too many", "a.csv", "arrival_s,service_s\n1,2,3\n", trace.Options{},
			":2: found more than 2 fields, want arrival_s,service_s"},
		{"no number", "a.csv", "arrival_s,service_s\n1,two\n", trace.Options{},
			`:2: found the service_s "two", want seconds such as 12.5`},
		{"a number with a unit", "a.csv", "arrival_s,service_s\n1,2s\n", trace.Options{},
			`:2: found the service_s "2s", want seconds such as 12.5`},
		{"a hexadecimal number", "a.csv", "arrival_s,service_s\n1,0x1p4\n", trace.Options{},
			`:2: found the service_s "0x1p4", want seconds such as 12.5`},
		{"an empty field", "a.csv", "arrival_s,service_s\n1,\n", trace.Options{}, ":2: found no service_s, want " +
			"seconds such as 12.5"},
		{"not a number", "a.csv", "arrival_s,service_s\nNaN,1\n", trace.Options{}, ":2: found the arrival_s NaN, " +
			"want a finite number of seconds"},
		{"infinity", "a.csv", "arrival_s,service_s\n1,-Inf\n", trace.Options{}, ":2: found the service_s -Inf, want " +
			"a finite number of seconds"},
		{"a negative service", "a.csv", "arrival_s,service_s\n1,-0.5\n", trace.Options{}, ":2: found the service_s " +
			"-0.5, want at least 0"},
		{"a date", "a.csv", "arrival_s,service_s\n1700000000,1\n", trace.Options{}, ":2: found the arrival_s " +
			"1700000000, want at most 315360000 seconds, ten years; times count from the start of the trace"},
		{"a time of twelve years", "a.csv", "arrival_s,service_s\n1,400000000\n", trace.Options{},
			":2: found the service_s 400000000, want at most 315360000 seconds, ten years; times count from the " +
				"start of the trace"},
		{"more digits than a number has", "a.csv", "arrival_s,service_s\n18446744073709551617,1\n", trace.Options{},
			":2: found the arrival_s 18446744073709551617, want at most 315360000 seconds, ten years; times count " +
				"from the start of the trace"},
		{"a number beyond all", "a.csv", "arrival_s,service_s\n1e999,1\n", trace.Options{},
			":2: found the arrival_s 1e999, want at most 315360000 seconds, ten years; times count from the start of " +
				"the trace"},
		{"disorder", "a.csv", "arrival_s,service_s\n2,1\n1.5,1\n", trace.Options{}, ":3: found the arrival 1.5 after " +
			"2, want arrivals in order: sort the lines by time"},
		{"a quote left open", "a.csv", "arrival_s,service_s,class\n1,2,\"a\n", trace.Options{},
			":2: found a quote that is not closed in its line"},
		{"text behind a quote", "a.csv", "arrival_s,service_s,class\n1,2,\"a\"b\n", trace.Options{},
			":2: found 'b' after a closing quote, want a comma or the end of the line"},
		{"a class that is no text", "a.csv", "arrival_s,service_s,class\n1,2,a\x1bb\n", trace.Options{},
			`:2: found the class "a\x1bb", want no control characters`},
		{"a group in another encoding", "a.csv", "arrival_s,service_s,group\n1,2,a\xe9\n", trace.Options{},
			`:2: found the group "a\xe9", want UTF-8`},
		{"a class without end", "a.csv", "arrival_s,service_s,class\n1,2," + long[:300] + "\n", trace.Options{},
			":2: found a class of 300 bytes, want at most 256"},
		{"a line without end", "a.csv", "arrival_s,service_s\n1," + long, trace.Options{},
			":2: found a line of more than 65535 bytes, which is the longest allowed; is this a text file?"},
		{"a child first", "a.csv", "arrival_s,service_s,depth\n1,2,1\n", trace.Options{},
			":2: found the depth 1 first, want a root: depth 0"},
		{"a level left out", "a.csv", "arrival_s,service_s,depth\n1,2,0\n1,2,2\n", trace.Options{},
			":3: found the depth 2 below a line of depth 0, want at most one more"},
		{"no depth", "a.csv", "arrival_s,service_s,depth\n1,2,-1\n", trace.Options{},
			`:2: found the depth "-1", want a whole number from 0, a root, to 1000`},
		{"siblings in disorder", "a.csv", "arrival_s,service_s,depth\n1,2,0\n5,2,1\n4,2,1\n", trace.Options{},
			":4: found the arrival 4 after 5, want arrivals in order: sort the lines by time"},
		{"broken gzip", "a.csv.gz", whole[:len(whole)-9], trace.Options{}, ":1001: the gzip file is broken: it ends " +
			"too early; get it again"},
		{"a changed gzip", "a.csv.gz", whole[:len(whole)-8] + "\x00\x00\x00\x00" + whole[len(whole)-4:],
			trace.Options{}, ":1001: the gzip file is broken: gzip: invalid checksum; get it again"},
		{"something behind gzip", "a.csv.gz", whole + "garbage behind it", trace.Options{},
			":1001: the gzip file is broken: gzip: invalid header; get it again"},
		{"gzip with no content", "a.csv.gz", whole[:5], trace.Options{}, ": the gzip file is broken: it ends too " +
			"early; get it again"},
		{"a zip file", "a.swf.zip", "PK\x03\x04....", trace.Options{}, ": found a zip archive, want text or gzip: " +
			"unpack it first"},
		{"a job cut off", "a.swf", job + "2 11 1 5\n", trace.Options{}, ":2: found 4 fields, want the 18 of a job in " +
			"the Standard Workload Format, -1 for what is unknown"},
		{"a job too long", "a.swf", strings.TrimSpace(job) + " 1\n", trace.Options{},
			":1: found more than 18 fields, want a job in the Standard Workload Format"},
		{"no submit time", "a.swf", swfJob("soon", "1", "1"), trace.Options{},
			`:1: found the submit time "soon", want seconds such as 12.5`},
		{"a negative run time", "a.swf", swfJob("1", "-2", "1"), trace.Options{}, ":1: found the run time -2, want " +
			"at least 0"},
		{"no status", "a.swf", swfJob("1", "2", "done"), trace.Options{}, ":1: found the status done, want a whole " +
			"number from -1 to 5"},
		{"jobs in disorder", "a.swf", swfJob("5", "2", "1") + swfJob("4", "2", "1"), trace.Options{},
			":2: found the arrival 4 after 5, want arrivals in order: sort the lines by time"},
		{"no job that ran", "a.swf", "; none\n" + swfJob("-1", "2", "1"), trace.Options{},
			": found no job with a submit and a run time among 1"},
		{"a log of comments", "a.swf", "; none\n", trace.Options{}, ": found no message; a trace has at least one"},
		{"counts without a service", "a.csv", "interval_s,count\n1,1\n", trace.Options{}, ": found counts, which do " +
			"not say how long the work takes: give the mean service, as in --service 10s"},
		{"counts of nothing", "a.csv", "interval_s,count\n1,0\n", trace.Options{Service: 1},
			": found no message; a trace has at least one"},
		{"a count with a point", "a.csv", "interval_s,count\n1,1.5\n", trace.Options{Service: 1},
			`:2: found the count "1.5", want a whole number from 0 to 1000000000`},
		{"a negative count", "a.csv", "interval_s,count\n1,-1\n", trace.Options{Service: 1},
			`:2: found the count "-1", want a whole number from 0 to 1000000000`},
		{"more than a trace may have", "a.csv", "interval_s,count\n1,1\n1,1000000000\n", trace.Options{Service: 1},
			":3: found more than 1000000000 messages, which is the most a trace may have"},
		{"an interval of no length", "a.csv", "interval_s,count\n0,1\n", trace.Options{Service: 1},
			":2: found an interval of length 0, want each longer than that"},
		{"the same start twice", "a.csv", "start_s,count\n5,1\n5,1\n", trace.Options{Service: 1},
			":3: found an interval of length 0, want each longer than that"},
		{"starts in disorder", "a.csv", "start_s,count\n5,1\n4,1\n", trace.Options{Service: 1},
			":3: found the arrival 4 after 5, want arrivals in order: sort the lines by time"},
		{"one start", "a.csv", "start_s,count\n5,1\n", trace.Options{Service: 1}, ":2: found one start_s, which does " +
			"not say how long the interval is: use interval_s"},
		{"both times", "a.csv", "start_s,interval_s,count\n5,1,1\n", trace.Options{Service: 1},
			":1: found the columns interval_s and start_s, want one of them"},
		{"intervals beyond ten years", "a.csv", "interval_s,count\n300000000,1\n300000000,1\n",
			trace.Options{Service: 1}, ":3: found the end of the interval 600000000, want at most 315360000 seconds, " +
				"ten years; times count from the start of the trace"},
		{"a service for what has one", "a.csv", "arrival_s,service_s\n1,2\n", trace.Options{Service: 1},
			": found the format csv, which says itself how long the work takes; service and spread are for counts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := in(t, c.file, c.content)
			read, err := trace.Open(path, c.options)
			if err == nil {
				_, err = all(read)
			}
			if err == nil {
				t.Fatal("it was read as if nothing were wrong")
			}
			if _, ok := errors.AsType[*trace.Fault](err); !ok {
				t.Errorf("found a %T, want a *Fault", err)
			}
			if got := strings.TrimPrefix(err.Error(), path); got != c.want {
				t.Errorf("found\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestALargeTreeIsRefusedWhileItIsRead(t *testing.T) {
	path := in(t, "a.csv", "arrival_s,service_s,depth\n0,1,0\n"+strings.Repeat("0,1,1\n", trace.MaxTree))
	_, err := trace.Open(path, trace.Options{})
	want := path + ":1000002: found a tree of more than 1000000 messages, which is the largest allowed"
	if err == nil || err.Error() != want {
		t.Errorf("found %v, want %s", err, want)
	}
	_, err = statistics.Measure(trace.Of("t", trace.Message{Children: make([]trace.Message, trace.MaxTree)}),
		statistics.Goal{})
	want = "trace t: message 1: found a tree of more than 1000000 messages, which is the largest allowed"
	if err == nil || err.Error() != want {
		t.Errorf("found %v, want %s", err, want)
	}
}

func TestAReaderThatFailedKeepsFailing(t *testing.T) {
	read, err := trace.Open(in(t, "a.csv", "arrival_s,service_s\n1,2\nx,2\n3,2\n"), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := read.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.(io.Closer).Close()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	_, first := r.Next()
	_, second := r.Next()
	if first == nil || first == io.EOF || second != first {
		t.Errorf("found %v, then %v, want the same fault twice", first, second)
	}
}

func TestAFileMayNotChangeBetweenReadings(t *testing.T) {
	path := in(t, "a.csv", "arrival_s,service_s\n1,2\n")
	read, err := trace.Open(path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("arrival_s,service_s\n1,2\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := all(read); err == nil || err.Error() != path+
		": the file changed since it was first read; start again" {
		t.Errorf("found %v", err)
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := trace.Open(dir, trace.Options{}); err == nil || err.Error() != dir+": open the trace: found no "+
		"regular file; a trace is read more than once, so save it to a file" {
		t.Errorf("found %v", err)
	}
	missing := filepath.Join(dir, "missing.csv")
	if _, err := trace.Open(missing, trace.Options{}); err == nil || err.Error() != missing+
		": open the trace: no such file or directory" {
		t.Errorf("found %v", err)
	}
}

func TestSkippedJobsAreCounted(t *testing.T) {
	read, err := trace.Open(in(t, "a.swf", job+swfJob("11", "-1", "1")+swfJob("12", "1", "3")), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := statistics.Measure(read, statistics.Goal{})
	if err != nil || s.Messages != 1 || s.Skipped != 2 {
		t.Errorf("found %d messages and %d skipped (%v), want 1 and 2", s.Messages, s.Skipped, err)
	}
}

func TestPoissonCountsKeepTheirIntervals(t *testing.T) {
	path := in(t, "a.csv", "interval_s,count\n60,1000\n60,0\n60,50\n")
	o := trace.Options{Service: 10 * time.Second, ServiceCV: 1, Spread: trace.SpreadPoisson, Seed: 5}
	read, err := trace.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(read)
	if err != nil {
		t.Fatal(err)
	}
	var counts [3]int
	var mean, place time.Duration
	for i, m := range got {
		counts[m.Arrival/time.Minute]++
		mean += m.Service / time.Duration(len(got))
		if i < 1000 {
			place += m.Arrival / 1000
		}
	}
	if counts != [3]int{1000, 0, 50} {
		t.Errorf("found %v messages in the minutes, want 1000, 0 and 50", counts)
	}
	// Four standard deviations of the mean of a thousand: 4 * 10 s / 32 and 4 * 17.3 s / 32.
	if d := mean - 10*time.Second; d.Abs() > 1250*time.Millisecond {
		t.Errorf("the mean service is %s, want about 10s", mean)
	}
	if d := place - 30*time.Second; d.Abs() > 2200*time.Millisecond {
		t.Errorf("the mean arrival within the first minute is %s, want about 30s", place)
	}
	o.Seed = 6
	other, err := trace.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := all(other)
	if err != nil || cmp.Equal(got, again) {
		t.Errorf("two seeds give the same messages (%v)", err)
	}
}

// TestPoissonCountsAreUniform has two messages in each of many intervals: the first of two independent uniform draws is
// at one third in the mean, the second at two thirds.
func TestPoissonCountsAreUniform(t *testing.T) {
	const n = 20_000
	content := "interval_s,count\n" + strings.Repeat("10,2\n", n)
	read, err := trace.Open(in(t, "a.csv", content), trace.Options{Service: time.Second, Spread: trace.SpreadPoisson,
		Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(read)
	if err != nil || len(got) != 2*n {
		t.Fatalf("found %d messages (%v)", len(got), err)
	}
	var sums [2]float64
	for i, m := range got {
		sums[i%2] += (m.Arrival % (10 * time.Second)).Seconds() / 10 / n
	}
	for i, want := range []float64{1. / 3, 2. / 3} {
		if d := sums[i] - want; d > 0.008 || d < -0.008 { // five standard errors
			t.Errorf("message %d of two is at %v of the interval in the mean, want %v", i+1, sums[i], want)
		}
	}
}
