package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestPeekingChangesNothing(t *testing.T) {
	for name, o := range map[string]Options{"in memory": {Ephemeral: true}, "on disk": {MemoryBytes: 1}} {
		t.Run(name, func(t *testing.T) {
			if !o.Ephemeral {
				o.Dir = t.TempDir()
			}
			s := open(t, o)
			mustCreate(t, s, "q", nil)
			mustSend(t, s, "q", "a", "b")
			take(t, s, "q")
			minute := time.Minute
			sendOne(t, s, "q", Outgoing{Body: "c", GroupID: "g",
				Attributes: map[string]Attribute{"k": {"String", []byte("v")}}})
			sendOne(t, s, "q", Outgoing{Body: "d", Delay: &minute})
			for _, row := range []struct {
				in    State
				limit int
				want  string
			}{
				{AnyState, 10, "a in flight, b in flight, c visible, d delayed"},
				{AnyState, 3, "a in flight, b in flight, c visible"},
				{StateVisible, 10, "c visible"}, {StateFlight, 1, "a in flight"}, {StateDelayed, 10, "d delayed"},
			} {
				got, err := s.Peek(t.Context(), "q", row.limit, row.in)
				var all []string
				for _, p := range got {
					all = append(all, p.Body+" "+string(p.State))
					if p.Receipt != "" || p.Body == "c" &&
						(string(p.Attributes["k"].Value) != "v" || p.GroupID != "g") || p.State == StateDelayed &&
						p.VisibleAt.Sub(p.Sent) != minute {
						t.Errorf("peeked %+v", p)
					}
				}
				if have := strings.Join(all, ", "); have != row.want || err != nil {
					t.Errorf("peek of %d %q: %q, %v, want %q", row.limit, row.in, have, err, row.want)
				}
			}
			wantCounts(t, s, "q", 1, 2, 1)
		})
	}
}

func TestPeekRefuses(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	for name, row := range map[string]struct {
		queue string
		limit int
		in    State
		want  error
	}{
		"no messages":          {"q", 0, AnyState, ErrInvalidParameter},
		"more than MaxPeek":    {"q", MaxPeek + 1, AnyState, ErrInvalidParameter},
		"a state nobody knows": {"q", 1, "lost", ErrInvalidParameter},
		"an absent queue":      {"none", 1, AnyState, ErrQueueNotFound},
	} {
		if _, err := s.Peek(t.Context(), row.queue, row.limit, row.in); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

// contentOf is what an export and an import must keep.
func contentOf(t *testing.T, s *Service, name string) []Outgoing {
	t.Helper()
	got, err := s.Peek(t.Context(), name, MaxPeek, AnyState)
	if err != nil {
		t.Fatal(err)
	}
	var out []Outgoing
	for _, p := range got {
		m := Outgoing{Body: p.Body, Attributes: p.Attributes, Trace: p.Trace, GroupID: p.GroupID,
			DeduplicationID: p.DeduplicationID}
		if p.State == StateDelayed {
			left := p.VisibleAt.Sub(p.Sent)
			m.Delay = &left
		}
		out = append(out, m)
	}
	return out
}

func TestWhatIsExportedCanBeImported(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		minute := time.Minute
		mustCreate(t, s, "a", nil)
		mustCreate(t, s, "b", map[string]string{"DelaySeconds": "7"})
		mustCreateFIFO(t, s, "a.fifo", nil)
		mustCreateFIFO(t, s, "b.fifo", nil)
		for range 25 {
			sendOne(t, s, "a", Outgoing{Body: "<é\n" + strings.Repeat("x", 100_000),
				Attributes: map[string]Attribute{"k": {"Binary.x", []byte{0, 255}}}, Trace: "t", GroupID: "g"})
		}
		sendOne(t, s, "a", Outgoing{Body: "delayed", Delay: &minute})
		sendGroups(t, s, "a.fifo", "x-1", "y-1", "x-2")
		for _, kind := range []string{"", ".fifo"} {
			var file bytes.Buffer
			n, err := s.Export(t.Context(), "a"+kind, &file)
			if lines := strings.Count(file.String(), "\n"); err != nil || n != lines {
				t.Fatalf("exported %d in %d lines, %v", n, lines, err)
			}
			for i := range 2 {
				got, err := s.Import(t.Context(), "b"+kind, bytes.NewReader(file.Bytes()))
				want := Imported{Sent: n}
				if kind != "" && i == 1 {
					want = Imported{Duplicates: n}
				}
				if got != want || err != nil {
					t.Fatalf("import %d: %+v, %v, want %+v", i, got, err, want)
				}
				if kind == "" && i == 0 {
					if diff := gocmp.Diff(contentOf(t, s, "a"), contentOf(t, s, "b")); diff != "" {
						t.Errorf("imported otherwise than exported:\n%s", diff)
					}
				}
			}
		}
		if diff := gocmp.Diff(contentOf(t, s, "a.fifo"), contentOf(t, s, "b.fifo")); diff != "" {
			t.Errorf("FIFO queue imported otherwise than exported:\n%s", diff)
		}
	})
}

func TestAnExportedLineIsJSONThatAPersonCanRead(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "q", nil)
		mustSend(t, s, "q", "<hello>")
		take(t, s, "q")
		var file bytes.Buffer
		if _, err := s.Export(t.Context(), "q", &file); err != nil {
			t.Fatal(err)
		}
		var line map[string]any
		if err := json.Unmarshal(file.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		delete(line, "id")
		want := map[string]any{"body": "<hello>", "state": "in flight", "sent": "2000-01-01T00:00:00Z",
			"first_received": "2000-01-01T00:00:00Z",
			"visible_at":     "2000-01-01T00:00:30Z", "receive_count": 1.0}
		if diff := gocmp.Diff(want, line); diff != "" {
			t.Errorf("line %s:\n%s", file.String(), diff)
		}
	})
}

func TestAnImportNamesTheLineThatIsWrong(t *testing.T) {
	for _, row := range []struct {
		name, text string
		stored     int
		want       string
	}{
		{"bodies alone, and empty lines", "{\"body\":\"a\"}\n\n {\"body\":\"b\"} ", 2, ""},
		{"nothing", "", 0, ""},
		{"a line that is not JSON", "{\"body\":\"a\"}\nb\n", 1, "import into queue q: line 2: "},
		{"a message without a body", "{\"body\":\"a\"}\n\n{\"body\":\"\"}\n{\"body\":\"c\"}", 1,
			"import into queue q: line 3: found no body; expected is a JSON object such as {\"body\":\"hello\"}"},
		{"a line that is too long", "{\"body\":\"a\"}\n" + strings.Repeat(" ", MaxImportLine+1), 1,
			"import into queue q: line 2: it is longer than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := ephemeral(t)
			mustCreate(t, s, "q", nil)
			got, err := s.Import(t.Context(), "q", strings.NewReader(row.text))
			if got.Sent != row.stored || (err == nil) != (row.want == "") || err != nil &&
				!strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("stored %d, %v, want %d, %q", got.Sent, err, row.stored, row.want)
			}
			wantCounts(t, s, "q", row.stored, 0, 0)
		})
	}
}

func TestAnImportKeepsWhatIsLeftOfADelay(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "a", nil)
		mustCreate(t, s, "b", nil)
		for _, delay := range []time.Duration{20 * time.Second, time.Minute} {
			sendOne(t, s, "a", Outgoing{Body: delay.String(), Delay: &delay})
		}
		var file bytes.Buffer
		if _, err := s.Export(t.Context(), "a", &file); err != nil {
			t.Fatal(err)
		}
		later(t, 30*time.Second)
		if _, err := s.Import(t.Context(), "b", &file); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, s, "b", 1, 0, 1)
		later(t, 30*time.Second)
		wantCounts(t, s, "b", 2, 0, 0)
	})
}

func TestAnExportedAttributeIsTextUnlessItIsBytes(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	want := map[string]Attribute{"text": {"String.kind", []byte("é")}, "bytes": {"Binary", []byte{0, 255}}}
	sendOne(t, s, "q", Outgoing{Body: "b", Attributes: want})
	var file bytes.Buffer
	if _, err := s.Export(t.Context(), "q", &file); err != nil {
		t.Fatal(err)
	}
	if shown := `"attributes":{"bytes":{"type":"Binary","binary":"AP8="},"text":{"type":"String.kind","value":"é"}}`; !strings.Contains(file.String(), shown) {
		t.Errorf("exported %s, want %s in it", file.String(), shown)
	}
	if _, err := s.Import(t.Context(), "q", &file); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, s, "q"); len(got) != 2 || gocmp.Diff(want, got[1].Attributes) != "" {
		t.Errorf("imported %+v", got)
	}
}

// TestTheLinesBeforeAWrongOneAreStored puts it at the edges of what is stored at a time.
func TestTheLinesBeforeAWrongOneAreStored(t *testing.T) {
	for _, at := range []int{1, 2, importBatch, importBatch + 1, importBatch + 2, 2*importBatch + 1, 1200} {
		for _, name := range []string{"q", "q.fifo"} {
			s := ephemeral(t)
			mustCreate(t, s, "q", nil)
			mustCreateFIFO(t, s, "q.fifo", nil)
			var text strings.Builder
			for line := 1; line <= 1300; line++ {
				if line == at {
					text.WriteString("wrong\n")
				}
				fmt.Fprintf(&text, `{"body":"%d","group_id":"g","deduplication_id":"%d"}`+"\n", line, line)
			}
			got, err := s.Import(t.Context(), name, strings.NewReader(text.String()))
			wrong, ok := errors.AsType[*LineError](err)
			if !ok || wrong.Line != at || got.Sent != at-1 {
				t.Fatalf("%s, a wrong line %d: stored %d, %v", name, at, got.Sent, err)
			}
			line := 0
			if err := s.PeekEach(t.Context(), name, AnyState, func(p Peeked) bool {
				line++
				return p.Body == strconv.Itoa(line)
			}); err != nil || line != at-1 {
				t.Errorf("%s, a wrong line %d: %d lines are stored in their order, %v", name, at, line, err)
			}
		}
	}
}

func TestABatchOfAnImportIsStoredWholeOrNotAtAll(t *testing.T) {
	s := open(t, Options{Ephemeral: true, MemoryBytes: 1 << 20})
	mustCreate(t, s, "q", nil)
	line := `{"body":"` + strings.Repeat("x", 1000) + "\"}\n"
	got, err := s.Import(t.Context(), "q", strings.NewReader(strings.Repeat(line, 3*importBatch)))
	wrong, ok := errors.AsType[*LineError](err)
	if !ok || !errors.Is(err, ErrStorageFull) || got.Sent != importBatch || wrong.Line != importBatch+1 {
		t.Errorf("stored %d, %v; want %d and the line after them", got.Sent, err, importBatch)
	}
	wantCounts(t, s, "q", importBatch, 0, 0)
}

func TestAPeekEndsWhenItsVisitorHasEnough(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "a", "b", "c")
	var seen []string
	err := s.PeekEach(t.Context(), "q", StateVisible, func(p Peeked) bool {
		seen = append(seen, p.Body)
		return len(seen) < 2
	})
	if got := strings.Join(seen, " "); got != "a b" || err != nil {
		t.Errorf("saw %s, %v", got, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.PeekEach(ended, "q", AnyState, func(Peeked) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}
