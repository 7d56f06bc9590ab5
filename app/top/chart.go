package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/server/board"
)

// scaleWidth is the width of the numbers beside a chart.
const scaleWidth = 8

// chart is one chart of a fleet: bars of one column, and a mark at a level.
type chart struct {
	title  string
	values []board.Number
	// level is drawn as a line where bars do not reach it; unknown draws none. With breach, bars beyond it are red.
	level  board.Number
	breach bool
	show   func(board.Number) string
}

// fleet draws the curves of one fleet in so many lines.
func (v View) fleet(r board.Row, s board.Series, room int) []string {
	mark := marks[r.State]
	lines := []string{v.styled(v.fit(terminal.Escape(r.Name, ""), v.Width), bold),
		v.styled(mark.mark+" "+words(r.State), mark.attribute) + v.fit(": "+terminal.Escape(r.Why, ""),
			max(0, v.Width-2-len(words(r.State)))),
		v.fit(terminal.Escape(r.Decision.Sentence, ""), v.Width)}
	lines = append(lines, v.overrides(r)...)
	charts := []chart{
		{fmt.Sprintf("workers in service %s, desired %s (%s to %s)", number(r.InService), number(r.Desired),
			number(r.Min), number(r.Max)), s.Columns["in_service"], r.Desired, false, number},
		{fmt.Sprintf("backlog %s, in flight %s", number(r.Backlog), number(r.InFlight)), s.Columns["backlog"],
			board.Number{}, false, number},
		{fmt.Sprintf("oldest message %s, objective %s", seconds(r.OldestSeconds), seconds(r.ObjectiveSeconds)),
			s.Columns["oldest_age_s"], r.ObjectiveSeconds, true, seconds},
	}
	height := max(1, (room-len(lines)-1)/len(charts)-1)
	for _, c := range charts {
		lines = append(lines, v.styled(v.fit(c.title, v.Width), faint))
		lines = append(lines, v.chart(c, height)...)
	}
	if s.StepSeconds > 0 {
		span := time.Duration(s.StepSeconds*float64(len(s.At))) * time.Second
		lines = append(lines, v.styled(v.fit(strings.Repeat(" ", scaleWidth)+"the last "+
			render.Seconds(span.Seconds()), v.Width), faint))
	}
	return lines
}

// eighths are bars of one to eight eighths of a line.
const eighths = " ▁▂▃▄▅▆▇█"

// chart draws bars in so many lines. A gap of unknown values is empty, and zero is a low line.
func (v View) chart(c chart, height int) []string {
	width := max(1, v.Width-scaleWidth)
	values := c.values[max(0, len(c.values)-width):]
	most := 0.0
	for _, n := range values {
		most = max(most, n.Value)
	}
	if c.level.Known {
		most = max(most, c.level.Value)
	}
	steps := []rune(eighths)
	lines := make([]string, height)
	for line := range lines {
		low, high := most*float64(height-1-line)/float64(height), most*float64(height-line)/float64(height)
		scale := ""
		switch {
		case line == 0:
			scale = c.show(board.Known(most))
		case line == height-1:
			scale = c.show(board.Known(0))
		}
		var b strings.Builder
		b.WriteString(left(scale, scaleWidth-1) + " ")
		beyond := false // the colour is changed only where it changes
		colour := func(to bool) {
			if to != beyond && v.Colour {
				b.WriteString(map[bool]string{true: "\x1b[" + red + "m", false: "\x1b[0m"}[to])
			}
			beyond = to
		}
		for _, n := range values {
			part := 0
			if n.Known && most > 0 {
				part = min(8, max(0, int(8*(n.Value-low)/(high-low)+0.5)))
			}
			levelHere := c.level.Known && c.level.Value > low && c.level.Value <= high
			colour(c.breach && n.Known && part > 0 && c.level.Known && n.Value > c.level.Value)
			switch {
			case n.Known && line == height-1 && part == 0:
				b.WriteRune(steps[1])
			case part == 0 && levelHere:
				b.WriteRune('┈')
			default:
				b.WriteRune(steps[part])
			}
		}
		colour(false)
		b.WriteString(strings.Repeat(" ", width-len(values)))
		lines[line] = b.String()
	}
	return lines
}
