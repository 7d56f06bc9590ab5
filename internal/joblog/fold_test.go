package joblog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// said renders records, with their counts.
func said(records []Record) string {
	var all []string
	for _, r := range records {
		text := r.Text
		if r.Repeated > 0 {
			text += fmt.Sprintf(" +%d", r.Repeated)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func line(message, text string) Record {
	return Record{Kind: Output, Message: message, Stream: "stderr", Text: text}
}

func failure(message, text string) Record { return Record{Kind: Failed, Message: message, Text: text} }

func TestRepeatedLinesAreCounted(t *testing.T) {
	many := func(r Record, n int) []Record { return slices.Repeat([]Record{r}, n) }
	for _, row := range []struct {
		name    string
		records []Record
		want    string
	}{
		{"different lines stand", []Record{line("m", "a"), line("m", "b"), line("m", "a")}, "a, b, a"},
		{"equal lines in a row are one with a count, in their place", append(many(line("m", "a"), 4), line("m", "b")),
			"a, a +3, b"},
		{"a job may print a line again between others", []Record{line("m", "},"), line("m", "x"), line("m", "},"),
			line("m", "y"), line("m", "},")}, "},, x, },, y, },"},
		{"the same line for another message stands", []Record{line("m", "a"), line("n", "a"), line("m", "a")},
			"a, a, a +1"},
		{"the next attempt repeats nothing", []Record{line("m", "a"), line("m", "a"), failure("m", "x"), line("m", "a"),
			failure("m", "y")}, "a, a +1, x, a, y"},
		{"the same line of the other stream stands",
			[]Record{line("m", "a"), {Kind: Output, Message: "m", Stream: "stdout", Text: "a"}}, "a, a"},
		{"equal failures of different messages are written twenty times",
			append(many(failure("m", "500"), 30), failure("n", "500")), strings.Repeat("500, ", 20) + "500 +11"},
		{"what the worker says is counted so, too", many(Record{Kind: Worker, Text: "away"}, 100),
			strings.Repeat("away, ", 20) + "away +80"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFolds()
			var out []Record
			for i, r := range row.records {
				r.At = start.Add(time.Duration(i) * time.Millisecond)
				out = append(out, f.take(r, r.At)...)
			}
			out = append(out, f.due(start.Add(time.Minute), false)...)
			if got := said(out); got != row.want {
				t.Errorf("wrote %s\nwant  %s", got, row.want)
			}
			if more := f.due(start.Add(time.Hour), true); len(more)+len(f.rows)+len(f.windows) > 0 {
				t.Errorf("kept %s, and %d and %d folds", said(more), len(f.rows), len(f.windows))
			}
		})
	}
}

func TestACountIsWrittenWhileALineGoesOnRepeating(t *testing.T) {
	f := newFolds()
	var out []Record
	for i := range 36 { // ten a second
		r := line("m", "a")
		r.At = start.Add(time.Duration(i) * 100 * time.Millisecond)
		out = append(append(out, f.take(r, r.At)...), f.due(r.At, false)...)
	}
	if got, want := said(out), "a, a +11, a +11, a +11"; got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
}

func TestTextsThatAreToldApartAreBounded(t *testing.T) {
	f := newFolds()
	for i := range 10 * maxFolds {
		f.take(failure("m", fmt.Sprint(i)), start)
		f.take(line(fmt.Sprint(i), "a"), start)
	}
	if n := len(f.rows) + len(f.windows); n > maxFolds {
		t.Errorf("holds %d texts, at most %d are allowed", n, maxFolds)
	}
}

func TestTail(t *testing.T) {
	for _, row := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"all of a short text, without its end", "a\nb\n\n", 10, "a\nb"},
		{"whole lines of a longer one", "first\nsecond\nthird\n", 14, "second\nthird"},
		{"the end of a long line", "abcdefgh", 3, "fgh"},
		{"no part of a character", "ééé", 3, "é"},
		{"what is no text is marked", "a\xffb", 10, "a\uFFFDb"},
		{"nothing", "\n", 10, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Tail(row.text, row.most); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
