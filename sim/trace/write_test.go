package trace_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/statistics"
)

// messages draws valid messages, with children to the given depth.
func messages(t *rapid.T, depth int) []trace.Message {
	var all []trace.Message
	at := time.Duration(0)
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[ a-z",é]{0,6}`))
	least := 0
	if depth == 3 {
		least = 1
	}
	for range rapid.IntRange(least, 2+2*depth).Draw(t, "messages") {
		at += time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(trace.MaxTime/20))).Draw(t,
			"gap"))
		m := trace.Message{
			Arrival: at, Service: time.Duration(rapid.Int64Range(0, int64(trace.MaxTime)).Draw(t, "service")),
			Class: text.Draw(t, "class"), Group: text.Draw(t, "group"),
		}
		if depth > 0 && rapid.IntRange(0, 4).Draw(t, "parent") == 0 {
			m.Children = messages(t, depth-1)
		}
		if len(m.Children) == 0 {
			m.Children = nil
		}
		all = append(all, m)
	}
	return all
}

// TestWhatIsWrittenIsReadBack holds for any messages: written, read and written again are the same messages and bytes.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := messages(t, 3)
		path := filepath.Join(dir, rapid.SampledFrom([]string{"a.csv", "a.csv.gz"}).Draw(t, "name"))
		if _, err := trace.Write(trace.Of("drawn", want...), path, nil); err != nil {
			t.Fatal(err)
		}
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read, err := trace.Open(path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(read)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
		if _, err := trace.Write(read, path, nil); err != nil { // over the file that it is read from
			t.Fatal(err)
		}
		if second, err := os.ReadFile(path); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("written again it has other bytes (%v)", err)
		}
	})
}

func TestOnlyTheColumnsThatAreNeededAreWritten(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name    string
		message trace.Message
		want    string
	}{
		{"plain", trace.Message{Arrival: s, Service: 1500 * time.Microsecond}, "arrival_s,service_s\n1,0.0015\n"},
		{"a class", trace.Message{Class: "a,b"}, "arrival_s,service_s,class\n0,0,\"a,b\"\n"},
		{"a group", trace.Message{Group: " "}, "arrival_s,service_s,group\n0,0,\" \"\n"},
		{"a child with a class", trace.Message{Children: []trace.Message{{Arrival: 1, Class: "leaf"}}},
			"arrival_s,service_s,class,depth\n0,0,,0\n0.000000001,0,leaf,1\n"},
	} {
		path := filepath.Join(t.TempDir(), "a.csv")
		n, err := trace.Write(trace.Of("t", c.message), path, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: found\n%swant\n%s(%v)", c.name, got, c.want, err)
		}
		if want := int64(strings.Count(c.want, "\n") - 1); n != want {
			t.Errorf("%s: it says that %d messages were written, want %d", c.name, n, want)
		}
	}
}

func deep(levels int) trace.Message {
	m := trace.Message{}
	for range levels {
		m = trace.Message{Children: []trace.Message{m}}
	}
	return m
}

func TestMessagesThatBreakTheRulesAreNotWritten(t *testing.T) {
	for _, c := range []struct {
		name     string
		messages []trace.Message
		want     string
	}{
		{"none", nil, "found no message; a trace has at least one"},
		{"before the start", []trace.Message{{Arrival: -1}}, "message 1: found the arrival -1ns, want at least 0"},
		{"disorder", []trace.Message{{Arrival: 2 * time.Second}, {Arrival: time.Second}},
			"message 2: found the arrival 1 after 2, want arrivals in order: sort the lines by time"},
		{"less than no work", []trace.Message{{Service: -time.Second}}, "message 1: found the service -1s, want at " +
			"least 0"},
		{"an endless work", []trace.Message{{Service: trace.MaxTime + 1}}, "message 1: found the service " +
			"87600h0m0.000000001s, want at most 315360000 seconds, ten years; times count from the start of the trace"},
		{"a class of two lines", []trace.Message{{Class: "a\nb"}},
			`message 1: found the class "a\nb", want no control characters`},
		{"children in disorder", []trace.Message{{Children: []trace.Message{{Arrival: 2}, {Arrival: 1}}}},
			"message 1: found the arrival 0.000000001 after 0.000000002, want arrivals in order: sort the lines " +
				"by time"},
		{"too deep", []trace.Message{deep(1001)}, "message 1: found children of children deeper than 1000, which is " +
			"the deepest allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.csv")
			if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := trace.Write(trace.Of("t", c.messages...), path, nil)
			if want := "write the trace to " + path + ": " + c.want; err == nil || err.Error() != want {
				t.Errorf("found\n%v\nwant\n%s", err, want)
			}
			_, err = statistics.Measure(trace.Of("t", c.messages...), statistics.Goal{})
			if want := "trace t: " + c.want; err == nil || err.Error() != want {
				t.Errorf("measured, found\n%v\nwant\n%s", err, want)
			}
			entries, err := os.ReadDir(dir)
			kept, readErr := os.ReadFile(path)
			if err != nil || readErr != nil || len(entries) != 1 || string(kept) != "kept" {
				t.Errorf("the directory has %v and the old file %q, want the old file untouched and nothing else "+
					"(%v, %v)", entries, kept, err, readErr)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if _, err := trace.Write(trace.Of("t", deep(1000)), path, nil); err != nil {
		t.Errorf("the deepest tree allowed: %v", err)
	}
}

func TestAFileThatBreaksOffLeavesNothingBehind(t *testing.T) {
	broken := errors.New("the disk is gone")
	left := 20_000
	source := trace.Trace{Name: "t", Open: func() (trace.Reader, error) { return &breaking{&left, broken}, nil }}
	dir := t.TempDir()
	if _, err := trace.Write(source, filepath.Join(dir, "a.csv.gz"), nil); !errors.Is(err, broken) {
		t.Errorf("found %v, want %v", err, broken)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("found %v, want nothing (%v)", entries, err)
	}
}

// breaking fails after some messages, over all its readings; they have all columns, so that one reading for these ends
// soon.
type breaking struct {
	left *int
	err  error
}

func (b *breaking) Next() (trace.Message, error) {
	if *b.left--; *b.left < 0 {
		return trace.Message{}, b.err
	}
	return trace.Message{Class: "c", Group: "g", Children: []trace.Message{{}}}, nil
}

func TestWriteSaysWhereItCannot(t *testing.T) {
	one := trace.Of("t", trace.Message{})
	for _, c := range []struct{ path, want string }{
		{"a.txt", `write the trace to a.txt: found a name that ends in ".txt", want .csv or .csv.gz`},
		{"a.gz", `write the trace to a.gz: found a name that ends in ".gz", want .csv or .csv.gz`},
		{"missing/a.csv", "write the trace to missing/a.csv: open missing/.a.csv.new-"},
	} {
		if _, err := trace.Write(one, c.path, nil); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("found %v, want %s", err, c.want)
		}
	}
}

func TestWritingTellsHowFarItIs(t *testing.T) {
	g, err := trace.Generate("steady:rate=1000,duration=25s", 1)
	if err != nil {
		t.Fatal(err)
	}
	var told []int64
	n, err := trace.Write(g, filepath.Join(t.TempDir(), "a.csv"), func(n int64) { told = append(told, n) })
	if err != nil || n != 25_000 || !cmp.Equal(told, []int64{10_000, 20_000}) {
		t.Errorf("wrote %d and told %v (%v), want 25000, told after 10000 and 20000", n, told, err)
	}
}

// TestOfGivesTheSameMessagesEachTime holds the promise of Trace for the one made of values.
func TestOfGivesTheSameMessagesEachTime(t *testing.T) {
	want := []trace.Message{{Service: 1}, {Arrival: 5, Class: "a"}}
	source := trace.Of("t", want...)
	for range 2 {
		if got, err := all(source); err != nil || !cmp.Equal(got, want) {
			t.Errorf("found %v (%v)", got, err)
		}
	}
	r, err := source.Open()
	if err != nil {
		t.Fatal(err)
	}
	for range want {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("found %v after the last message, want io.EOF", err)
	}
}
