package top_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/top"
	"github.com/muster-scale/muster/server/board"
)

var update = flag.Bool("update", false, "write the golden files anew")

// n is a known number.
func n(v float64) board.Number { return board.Known(v) }

// event encodes an event of the stream.
func event(t *testing.T, name string, v any) client.Event {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return client.Event{Name: name, Data: text}
}

// shown is a model with fleets in every state, and the curves of the selected one.
func shown(t *testing.T) *top.Model {
	t.Helper()
	m := &top.Model{}
	b := board.Board{Totals: board.Totals{Desired: n(9), InService: n(8), Backlog: n(60), CostPerHour: n(1.5),
		InTime: n(0.9996)}, OpenIncidents: 1, Faults: []string{"the configuration was not applied:\nline 2"}}
	for i, state := range []board.State{board.AtRisk, board.Blind, board.Failing, board.Meeting, board.Missing,
		board.NotSized, board.Paused} {
		b.Fleets = append(b.Fleets, board.Row{Name: fmt.Sprintf("fleet-%d", i), State: state, Why: "because of " +
			string(state), OldestSeconds: n(float64(3 * i)), ObjectiveSeconds: n(30), InTime: n(1),
			Backlog: n(float64(10 * i)), Desired: n(3), InService: n(2), Busy: n(1), Min: n(0), Max: n(5),
			Decision: board.Short{Sentence: "holding at 3: enough"}})
	}
	b.Fleets[1].Backlog, b.Fleets[1].OldestSeconds = board.Number{}, board.Number{}
	b.Fleets[2].Overrides = "paused until 14:20 UTC\nreserved: 4 workers from 15:00 UTC until 15:30 UTC (newsletter)"
	b.Fleets[3].Name = "fleet-3-\x1b[2J-with-a-name-that-is-longer"
	if err := m.Apply(event(t, "board", b)); err != nil {
		t.Fatal(err)
	}
	m.Curves = board.Series{StepSeconds: 2, At: make([]int64, 40), Columns: map[string][]board.Number{
		"in_service": nil, "backlog": nil, "oldest_age_s": nil}}
	for i := range 40 {
		age := n(float64(i))
		if i > 10 && i < 15 {
			age = board.Number{}
		}
		m.Curves.Columns["in_service"] = append(m.Curves.Columns["in_service"], n(float64(i/10)))
		m.Curves.Columns["backlog"] = append(m.Curves.Columns["backlog"], n(float64((i*7)%50)))
		m.Curves.Columns["oldest_age_s"] = append(m.Curves.Columns["oldest_age_s"], age)
	}
	return m
}

// width is the number of characters of a line that a person sees.
func width(line string) int {
	return utf8.RuneCountInString(regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(line, ""))
}

func TestTheScreensAreAsMeant(t *testing.T) {
	for name, test := range map[string]struct {
		view top.View
		keys []string
	}{
		"list":   {top.View{Width: 110, Height: 16}, []string{"j", "down"}},
		"narrow": {top.View{Width: 46, Height: 12}, nil},
		"fleet":  {top.View{Width: 80, Height: 24}, []string{"enter"}},
		"help":   {top.View{Width: 110, Height: 14}, []string{"?"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := shown(t)
			curves := m.Curves
			for _, key := range test.keys {
				m.Press(key)
			}
			m.Curves = curves
			got := strings.Join(test.view.Lines(*m), "\n") + "\n"
			path := filepath.Join("testdata", name+".txt")
			if *update {
				os.MkdirAll("testdata", 0o755)
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
				t.Errorf("%v; if that is meant, run go test ./app/top -update (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestEveryScreenFits draws in terminals of all sizes: no line is too long, none is missing, and no text of a fleet
// commands the terminal.
func TestEveryScreenFits(t *testing.T) {
	for _, keys := range [][]string{nil, {"enter"}, {"?"}, {"G"}} {
		m := shown(t)
		curves := m.Curves
		for _, key := range keys {
			m.Press(key)
		}
		m.Curves = curves
		for w := 20; w < 140; w += 7 {
			for h := 1; h < 40; h += 3 {
				lines := top.View{Width: w, Height: h, Colour: true}.Lines(*m)
				if len(lines) != h {
					t.Fatalf("%v: %d lines in a terminal of %d", keys, len(lines), h)
				}
				for _, line := range lines {
					if width(line) > w && !m.Help {
						t.Fatalf("%v: a line of %d characters in a terminal of %d: %q", keys, width(line), w, line)
					}
					if strings.Contains(line, "\x1b[2J") {
						t.Fatalf("a name commands the terminal: %q", line)
					}
				}
			}
		}
	}
}

func TestWithoutColoursThereAreNone(t *testing.T) {
	m := shown(t)
	m.Press("enter")
	for _, line := range (top.View{Width: 100, Height: 30}).Lines(*m) {
		if regexp.MustCompile(`\x1b\[3[0-9]m`).MatchString(line) {
			t.Errorf("found %q", line)
		}
	}
	coloured := strings.Join(top.View{Width: 100, Height: 30, Colour: true}.Lines(*m), "")
	if !strings.Contains(coloured, "\x1b[33m") {
		t.Errorf("with colours there are none: %q", coloured)
	}
}

func TestEventsChangeTheBoard(t *testing.T) {
	m := shown(t)
	m.Press("j")
	for _, e := range []client.Event{
		event(t, "change", map[string]any{"fleets": []any{map[string]any{"name": "fleet-1", "backlog": 7},
			map[string]any{"name": "fleet-9", "state": "meeting"}, map[string]any{"name": "fleet-0", "in_time": nil}},
			"gone": []string{"fleet-2"}, "totals": map[string]any{"backlog": 67}}),
		event(t, "faults", map[string]any{"faults": []string{}}),
		event(t, "incidents", map[string]any{"open": 4}),
		event(t, "something new", map[string]any{"a": 1}),
	} {
		if err := m.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, r := range m.Board.Fleets {
		names = append(names, r.Name[:7])
	}
	if !slices.Equal(names, []string{"fleet-0", "fleet-1", "fleet-3", "fleet-4", "fleet-5", "fleet-6", "fleet-9"}) {
		t.Errorf("found the fleets %v", names)
	}
	one, zero := m.Board.Fleets[1], m.Board.Fleets[0]
	if one.Backlog != n(7) || one.State != board.Blind || zero.InTime.Known || m.Board.Totals.Backlog != n(67) {
		t.Errorf("found %+v and %+v", one, zero)
	}
	if m.Selected != "fleet-1" || len(m.Board.Faults) != 0 || m.Board.OpenIncidents != 4 {
		t.Errorf("found %q, %v, %d", m.Selected, m.Board.Faults, m.Board.OpenIncidents)
	}
	if err := m.Apply(client.Event{Name: "change", Data: []byte("{")}); err == nil {
		t.Error("half an event is applied")
	}
	if err := m.Apply(event(t, "change", map[string]any{"gone": []string{"fleet-1"}})); err != nil ||
		m.Selected != "fleet-0" {
		t.Errorf("after the selected fleet is gone %q is selected, %v", m.Selected, err)
	}
}

// TestTheFirstScreenHasTheFleets: before the stream begins, the screen must not say that there are none.
func TestTheFirstScreenHasTheFleets(t *testing.T) {
	m := top.Begin(shown(t).Board)
	screen := strings.Join(top.View{Width: 110, Height: 16}.Lines(m), "\n")
	if m.Selected != m.Board.Fleets[0].Name || strings.Contains(screen, "without fleets") ||
		!strings.Contains(screen, m.Selected) {
		t.Errorf("%q is selected in\n%s", m.Selected, screen)
	}
	if none := top.Begin(board.Board{}); none.Selected != "" {
		t.Errorf("of no fleet %q is selected", none.Selected)
	}
}

func TestKeysMoveAndLeave(t *testing.T) {
	m := shown(t)
	for _, test := range []struct{ sent, selected string }{
		{"j", "fleet-1"}, {"\x1b[B", "fleet-2"}, {"k", "fleet-1"}, {"\x1b[A\x1bOA\x1b[A", "fleet-0"}, {"G", "fleet-6"},
		{"j", "fleet-6"}, {"g", "fleet-0"}, {" ", "fleet-6"}, {"\x1b[5~", "fleet-0"}, {"\x1b[99~x\x01", "fleet-0"},
	} {
		for _, key := range top.Keys(test.sent) {
			m.Press(key)
		}
		if m.Selected != test.selected {
			t.Errorf("after %q %s is selected, want %s", test.sent, m.Selected, test.selected)
		}
	}
	m.Press(top.Keys("\r")[0])
	if !m.Opened {
		t.Error("enter does not open a fleet")
	}
	m.Press(top.Keys("\x1b")[0])
	if m.Opened {
		t.Error("escape does not go back")
	}
	for _, leave := range []string{"q", "\x03"} {
		m := shown(t)
		m.Press(top.Keys(leave)[0])
		if !m.Quit {
			t.Errorf("%q does not leave", leave)
		}
	}
}
