package top

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/server/board"
)

// Model is the state of the display. It is a plain value without I/O; one goroutine uses it.
type Model struct {
	Board board.Board
	// Selected is the name of the selected fleet; empty before the first board. Opened shows its curves.
	Selected string
	Opened   bool
	// Curves are those of the selected fleet while it is opened.
	Curves board.Series
	// Broken says why no events come; empty while they do.
	Broken string
	// Help shows the keys.
	Help bool
	// Quit is true once the user leaves.
	Quit bool
}

// Begin returns the state of the display with its first board, before the stream begins.
func Begin(b board.Board) Model {
	m := Model{Board: b}
	m.choose()
	return m
}

// choose selects the first fleet if the selected one is not there.
func (m *Model) choose() {
	if m.at() >= 0 {
		return
	}
	m.Selected, m.Opened = "", false
	if len(m.Board.Fleets) > 0 {
		m.Selected = m.Board.Fleets[0].Name
	}
}

// Apply applies an event of the stream. An event of a later version that it does not know changes nothing.
func (m *Model) Apply(e client.Event) error {
	var err error
	switch e.Name {
	case "board":
		var b board.Board
		if err = json.Unmarshal(e.Data, &b); err == nil {
			m.Board = b
		}
	case "change":
		err = m.change(e.Data)
	case "faults":
		var f struct{ Faults []string }
		if err = json.Unmarshal(e.Data, &f); err == nil {
			m.Board.Faults = f.Faults
		}
	case "incidents":
		var i struct{ Open int }
		if err = json.Unmarshal(e.Data, &i); err == nil {
			m.Board.OpenIncidents = i.Open
		}
	}
	if err != nil {
		return fmt.Errorf("read the event %s of the stream: %w", e.Name, err)
	}
	m.choose()
	return nil
}

// change applies changed fields. A changed row is decoded over the present one, so the other fields stay.
func (m *Model) change(text []byte) error {
	var c struct {
		Fleets []json.RawMessage
		Gone   []string
		Totals *board.Totals
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	for _, raw := range c.Fleets {
		var named struct{ Name string }
		if err := json.Unmarshal(raw, &named); err != nil {
			return err
		}
		i, found := slices.BinarySearchFunc(m.Board.Fleets, named.Name,
			func(r board.Row, name string) int { return strings.Compare(r.Name, name) })
		if !found {
			m.Board.Fleets = slices.Insert(m.Board.Fleets, i, board.Row{})
		}
		if err := json.Unmarshal(raw, &m.Board.Fleets[i]); err != nil {
			return err
		}
	}
	m.Board.Fleets = slices.DeleteFunc(m.Board.Fleets,
		func(r board.Row) bool { return slices.Contains(c.Gone, r.Name) })
	if c.Totals != nil {
		m.Board.Totals = *c.Totals
	}
	return nil
}

// at returns the index of the selected fleet, or -1.
func (m *Model) at() int {
	return slices.IndexFunc(m.Board.Fleets, func(r board.Row) bool { return r.Name == m.Selected })
}

// Press handles a key, by its name: a character, or up, down, pageup, pagedown, home, end, enter, escape.
func (m *Model) Press(key string) {
	const page = 10
	switch key {
	case "q", "ctrl-c":
		m.Quit = true
	case "?", "h":
		m.Help = !m.Help
	case "j", "down":
		m.move(1)
	case "k", "up":
		m.move(-1)
	case "pagedown", " ":
		m.move(page)
	case "pageup":
		m.move(-page)
	case "g", "home":
		m.move(-len(m.Board.Fleets))
	case "G", "end":
		m.move(len(m.Board.Fleets))
	case "enter":
		m.Opened = m.Selected != ""
	case "escape", "backspace":
		m.Opened, m.Help = false, false
	}
}

// move moves the selection by so many rows, as far as there are any.
func (m *Model) move(by int) {
	if n := len(m.Board.Fleets); n > 0 {
		m.Selected = m.Board.Fleets[min(max(m.at()+by, 0), n-1)].Name
		m.Curves = board.Series{} // those of another fleet
	}
}
