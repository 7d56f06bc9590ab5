package top

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/server/board"
)

// View is a terminal's size in characters, and whether it has colours.
type View struct {
	Width, Height int
	Colour        bool
}

// The attributes of text, as terminals take them.
const (
	plain   = ""
	bold    = "1"
	faint   = "2"
	reverse = "7"
	red     = "31"
	yellow  = "33"
	green   = "32"
	blue    = "34"
)

// styled returns text with an attribute; without colours only bold and reverse are used, as every terminal has them.
func (v View) styled(text, attribute string) string {
	if attribute == plain || !v.Colour && attribute != bold && attribute != reverse {
		return text
	}
	return "\x1b[" + attribute + "m" + text + "\x1b[0m"
}

// marks are a character and an attribute for each state. The word stands beside them.
var marks = map[board.State]struct{ mark, attribute string }{
	board.Meeting: {"+", green}, board.AtRisk: {"!", yellow}, board.Missing: {"x", red}, board.Failing: {"x", red},
	board.Paused: {"=", blue}, board.Blind: {"?", yellow}, board.NotSized: {"-", red},
}

// words returns a state as people read it.
func words(s board.State) string { return strings.ReplaceAll(string(s), "_", " ") }

// Lines draws a model: exactly Height lines of at most Width characters.
func (v View) Lines(m Model) []string {
	lines := v.head(m)
	foot := v.foot(m)
	room := max(0, v.Height-len(lines)-len(foot))
	var body []string
	switch i := m.at(); {
	case m.Help:
		body = help()
	case m.Opened && i >= 0:
		body = v.fleet(m.Board.Fleets[i], m.Curves, room)
	default:
		body = v.list(m, room)
	}
	for len(body) < room {
		body = append(body, "")
	}
	lines = append(append(lines, body[:room]...), foot...)
	return lines[:min(len(lines), v.Height)]
}

// help lists the keys.
func help() []string {
	return []string{"", "  j, k, arrows   select a fleet          enter    show its curves",
		"  g, G           the first, the last     escape   back to the list",
		"  space          ten fleets on           q        leave", "",
		"  The mark before a state: + meeting  ! at risk  x missing or failing  = paused  ? blind  - not sized",
		"  ? stands for an unknown number."}
}

// number renders a number; an unknown one is a question mark.
func number(n board.Number) string {
	if !n.Known {
		return "?"
	}
	return render.Number(n.Value)
}

// seconds renders a time.
func seconds(n board.Number) string {
	if !n.Known {
		return "?"
	}
	return render.Seconds(n.Value)
}

// share renders a share in per cent, rounded down to tenths.
func share(n board.Number) string {
	if !n.Known {
		return "?"
	}
	return render.Number(float64(int(n.Value*1000+1e-9))/10) + "%"
}

// head is the line with the totals, and the faults.
func (v View) head(m Model) []string {
	t := m.Board.Totals
	text := fmt.Sprintf("muster  %s  workers %s of %s  backlog %s  in time %s",
		render.Plural(len(m.Board.Fleets), "fleet"), number(t.InService), number(t.Desired), number(t.Backlog),
		share(t.InTime))
	if t.CostPerHour.Known {
		text += "  cost " + number(t.CostPerHour) + "/h"
	}
	if m.Board.OpenIncidents > 0 {
		text += fmt.Sprintf("  %s open", render.Plural(m.Board.OpenIncidents, "incident"))
	}
	lines := []string{v.styled(v.fit(text, v.Width), bold)}
	for _, fault := range m.Board.Faults[:min(len(m.Board.Faults), 2)] {
		first, _, _ := strings.Cut(fault, "\n")
		lines = append(lines, v.styled(v.fit("! "+terminal.Escape(first, ""), v.Width), red))
	}
	return lines
}

// foot has the reason of the selected fleet's state and the keys.
func (v View) foot(m Model) []string {
	keys := "q leave  j/k select  enter curves  ? keys"
	if m.Opened {
		keys = "q leave  j/k select  escape list  ? keys"
	}
	if m.Broken != "" {
		keys = "no news: " + terminal.Escape(m.Broken, "") + "; connecting again"
	}
	lines := []string{""}
	if i := m.at(); i >= 0 && !m.Opened {
		r := m.Board.Fleets[i]
		lines = append(lines, v.fit(terminal.Escape(r.Name+": "+r.Why, ""), v.Width))
		if r.Decision.Sentence != "" {
			lines = append(lines, v.fit(terminal.Escape(r.Decision.Sentence, ""), v.Width))
		}
		lines = append(lines, v.overrides(r)...)
	}
	return append(lines, v.styled(v.fit(keys, v.Width), faint))
}

// overrides has the instructions of operators for a fleet in one line; no line without any.
func (v View) overrides(r board.Row) []string {
	if r.Overrides == "" {
		return nil
	}
	return []string{v.fit(terminal.Escape(strings.ReplaceAll(r.Overrides, "\n", "; "), ""), v.Width)}
}

// column is one column of the list. A narrow terminal leaves out those with the highest rank.
type column struct {
	title string
	width int
	rank  int
	text  func(board.Row) string
}

// columns are those of the list, after the name and the state.
func columns() []column {
	return []column{
		{"OLDEST", 8, 1, func(r board.Row) string { return seconds(r.OldestSeconds) }},
		{"OF", 7, 2, func(r board.Row) string { return seconds(r.ObjectiveSeconds) }},
		{"IN TIME", 7, 2, func(r board.Row) string { return share(r.InTime) }},
		{"BACKLOG", 8, 0, func(r board.Row) string { return number(r.Backlog) }},
		{"WORKING", 7, 3, func(r board.Row) string { return number(r.Working) }},
		{"RETRY", 6, 4, func(r board.Row) string { return number(r.Retrying) }},
		{"DESIRED", 7, 0, func(r board.Row) string { return number(r.Desired) }},
		{"IN SERVICE", 10, 1, func(r board.Row) string { return number(r.InService) }},
		{"BUSY", 5, 3, func(r board.Row) string { return number(r.Busy) }},
		{"PENDING", 7, 4, func(r board.Row) string { return number(r.Pending) }},
		{"COST/H", 8, 5, func(r board.Row) string { return number(r.CostPerHour) }},
	}
}

const (
	// leastName is the least width of a name, stateWidth that of a state with its mark.
	leastName, stateWidth = 12, 11
)

// fitting returns the columns that have room, and the width of a name.
func (v View) fitting(rows []board.Row) ([]column, int) {
	name := leastName
	for _, r := range rows {
		name = max(name, min(utf8.RuneCountInString(r.Name), 30))
	}
	all := columns()
	for rank := 5; ; rank-- {
		width := name + 1 + stateWidth
		var kept []column
		for _, c := range all {
			if c.rank <= rank {
				kept = append(kept, c)
				width += c.width + 1
			}
		}
		if width <= v.Width || rank == 0 {
			return kept, max(4, min(name, v.Width-(width-name)))
		}
	}
}

// list draws the fleets, with the selected one in sight.
func (v View) list(m Model, room int) []string {
	if len(m.Board.Fleets) == 0 {
		return []string{"", "  muster up runs without fleets: give it a configuration with -f"}
	}
	shown, name := v.fitting(m.Board.Fleets)
	title := pad("FLEET", name) + " " + pad("STATE", stateWidth)
	for _, c := range shown {
		title += " " + left(c.title, c.width)
	}
	lines := []string{v.styled(v.fit(title, v.Width), faint)}
	first := max(0, m.at()-max(0, room-2))
	for _, r := range m.Board.Fleets[first:min(len(m.Board.Fleets), first+max(0, room-1))] {
		lines = append(lines, v.row(r, shown, name, r.Name == m.Selected))
	}
	return lines
}

// row draws one fleet.
func (v View) row(r board.Row, shown []column, name int, selected bool) string {
	mark := marks[r.State]
	state := pad(mark.mark+" "+words(r.State), stateWidth)
	text := ""
	for _, c := range shown {
		text += " " + left(c.text(r), c.width)
	}
	label := pad(clipped(terminal.Escape(r.Name, ""), name), name)
	if selected {
		return v.styled(v.fit(label+" "+state+text, v.Width), reverse)
	}
	if used := utf8.RuneCountInString(label + " " + state + text); used > v.Width {
		return v.fit(label+" "+state+text, v.Width)
	}
	return label + " " + v.styled(state, mark.attribute) + text
}

// fit cuts a text to a width and fills it up, so that it covers what was there before.
func (v View) fit(text string, width int) string { return pad(clipped(text, width), width) }

// clipped cuts a text to a width in characters; the last one then says so.
func clipped(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return string([]rune(text)[:width-1]) + "…"
}

// pad fills a text up on the right, left on the left.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func left(text string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text))) + text
}
