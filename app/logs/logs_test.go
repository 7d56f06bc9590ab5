package logs

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/internal/joblog"
)

// logNoon is when the records of these tests are from, each a second after the one before.
var logNoon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)

// records makes records of what is written as "message stream text".
func records(lines ...string) (all []joblog.Record) {
	for i, line := range lines {
		part := strings.SplitN(line, " ", 3)
		r := joblog.Record{At: logNoon.Add(time.Duration(i) * time.Second), Kind: joblog.Output, Member: "w",
			Message: part[0], Stream: part[1], Text: part[2]}
		if part[1] == "failed" {
			r.Kind, r.Failure = joblog.Failed, &joblog.Failure{Message: part[0], Error: part[2], Attempt: 2,
				TookSeconds: 1.5, Output: "first\nlast"}
		}
		all = append(all, r)
	}
	return all
}

// shownAs is how records are printed, without their times.
func shownAs(t *testing.T, failed bool, records []joblog.Record) string {
	t.Helper()
	var out bytes.Buffer
	f := &folding{printer: &printer{out: &out, failed: failed, today: logNoon.Format(time.DateOnly)}}
	for _, r := range records {
		if err := f.Show(r); err != nil {
			t.Fatal(err)
		}
	}
	f.end()
	var lines []string
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, "12:") {
			_, line, _ = strings.Cut(line, " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestRepeatedLinesOfALogAreFolded(t *testing.T) {
	var blocks, alike []string
	for i := range 30 {
		blocks = append(blocks, fmt.Sprintf("m%d stderr not found", i), fmt.Sprintf("m%d failed status 1", i))
		alike = append(alike, fmt.Sprintf("m%d stdout same", i))
	}
	for _, row := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"different lines", []string{"m stdout a", "m stderr b", "- stdout c"},
			"w m stdout a\nw m stderr b\nw - stdout c"},
		{"two more are shown as they are", []string{"m stdout a", "m stdout a", "m stdout a"},
			"w m stdout a\nw m stdout a\nw m stdout a"},
		{"many more are counted", append(alike, "m stdout end"),
			"w m0 stdout same\n    ... 29 more lines like it until 12:00:29.000, of 29 messages\nw m stdout end"},
		{"blocks that are repeated are counted", append(blocks, "m stdout end"),
			"w m0 stderr not found\nw m0 FAILED attempt 2 after 1.5s: status 1\n    ... 58 more lines like the last " +
				"2 until 12:00:59.000, of 29 messages\nw m stdout end"},
		{"text in which lines occur again is whole", []string{"m stdout {", "m stdout  a", "m stdout },", "m stdout {",
			"m stdout  b", "m stdout },", "m stdout ]"},
			"w m stdout {\nw m stdout  a\nw m stdout },\nw m stdout {\nw m stdout  b\nw m stdout },\nw m stdout ]"},
		{"a repetition that is not complete is shown", []string{"m stdout a", "m stdout b", "m stdout a", "m stdout c"},
			"w m stdout a\nw m stdout b\nw m stdout a\nw m stdout c"},
		{"an id is shortened, and what steers a terminal is not printed", []string{"0123456789 stdout \x1b[31mred"},
			`w 01234567 stdout \x1b[31mred`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := shownAs(t, false, records(row.lines...)); got != row.want {
				t.Errorf("printed\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

func TestFailuresAreShownWithTheirOutput(t *testing.T) {
	all := records("m failed status 1", "n failed status 1")
	all[1].Failure.Output = "another"
	all[1].Failure.DeadLetter = true
	again := 30.0
	all[0].Failure.AgainSeconds = &again
	want := "w m FAILED attempt 2 after 1.5s: status 1; again in 30s\n    | first\n    | last\nw n FAILED attempt 2 " +
		"after 1.5s: status 1; moved to the dead letters\n    | another"
	if got := shownAs(t, true, all); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

func TestTheFleetOfALogIsFound(t *testing.T) {
	data := t.TempDir()
	l := joblog.Open(app.LogsDir(data), "gone", "w", nil)
	l.Write(joblog.Record{Kind: joblog.Output, Text: "a"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	several := &config.Config{Data: data,
		Fleets: []config.Fleet{{Name: "thumbs"}, {Name: "away", Members: &asg.Config{}}}}
	for _, row := range []struct {
		name, fleet string
		c           *config.Config
		want, says  string
	}{
		{"a stated one", "thumbs", several, "thumbs", ""},
		{"one that is no longer stated", "gone", several, "gone", ""},
		{"the only one", "", &config.Config{Data: data}, "gone", ""},
		{"none named of several", "", several, "", "name one: gone, thumbs"},
		{"a name that was mistyped", "tumbs", several, "", `did you mean "thumbs"?`},
		{"one on AWS", "away", several, "", "run on AWS"},
		{"nothing there", "", &config.Config{Data: t.TempDir()}, "", "name it with -f FILE"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := FleetOf(row.c, row.fleet)
			if got != row.want || (err == nil) != (row.says == "") || err != nil &&
				!strings.Contains(err.Error(), row.says) {
				t.Errorf("found %q, %v; want %q, %q", got, err, row.want, row.says)
			}
		})
	}
}

func TestSinceIsADurationOrATime(t *testing.T) {
	for text, want := range map[string]time.Time{
		"": {}, "10m": logNoon.Add(-10 * time.Minute), "2026-03-01T11:00:00": logNoon.Add(-time.Hour),
		"2026-03-01":           logNoon.Add(-12 * time.Hour),
		"2026-03-01T10:30:00Z": time.Date(2026, 3, 1, 10, 30, 0, 0, time.UTC),
	} {
		if got, err := Since(text, logNoon); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"yesterday", "-5m", "10"} {
		if _, err := Since(bad, logNoon); err == nil || !strings.Contains(err.Error(), "allowed is") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTheLastRecordsAlone(t *testing.T) {
	for _, row := range []struct {
		most, records int
		want          string
	}{{0, 3, "0 1 2"}, {2, 5, "3 4"}, {5, 2, "0 1"}, {1, 1000, "999"}} {
		var got []string
		l := &lastRecords{most: row.most, visit: func(r joblog.Record) error { got = append(got, r.Text); return nil }}
		for i := range row.records {
			if err := l.take(joblog.Record{Text: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.flush(); err != nil || strings.Join(got, " ") != row.want {
			t.Errorf("the last %d of %d are %v, want %s", row.most, row.records, got, row.want)
		}
	}
}

// TestTheRecordsOfALogAreDocumented looks for every field of a record on the page that tells of them.
func TestTheRecordsOfALogAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Records")
	for _, of := range []reflect.Type{reflect.TypeFor[joblog.Record](), reflect.TypeFor[joblog.Failure]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(table, "`"+name+"`") {
				t.Errorf("docs/logs.md does not tell of %s in %s", name, of.Name())
			}
		}
	}
}
