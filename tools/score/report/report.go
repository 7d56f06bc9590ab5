package report

import (
	"fmt"
	"strings"
)

// The goals that several parts share.
const (
	// ObjectiveShare is the share of the messages that is to be in time.
	ObjectiveShare = 0.99
	// BusyWorkers is the load in workers from which on the cost over the lower bound is judged closely.
	BusyWorkers = 2
)

// Section is what a part found.
type Section struct {
	// About says what was played and how it is judged.
	About  string
	Goals  []Goal
	Tables []Table
	Notes  []string
}

// Table is a table of the page; the first column is words, the others are figures.
type Table struct {
	// Head names the columns.
	Head []string
	Rows [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write writes the table in Markdown; with figures all columns but the first stand to the right.
func (t Table) Write(b *strings.Builder, figures bool) {
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "---"
		if figures && i > 0 {
			rule[i] = "---:"
		}
	}
	fmt.Fprintf(b, "%s\n%s\n", Row(t.Head), Row(rule))
	for _, r := range t.Rows {
		b.WriteString(Row(r) + "\n")
	}
	b.WriteString("\n")
}

// Row is a line of a table.
func Row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// Goal is one line of a table of goals.
type Goal struct {
	// What is judged, Target what it is to be, Found what it is.
	What, Target, Found string
	// Met tells whether the goal is met.
	Met bool
	// Why says what stands in the way of a goal that is not met.
	Why string
}

// String is what was found, and why the goal is not met.
func (g Goal) String() string {
	if g.Met {
		return g.Found
	}
	return g.Found + " NOT " + g.Why
}

// Judged is a goal with the names of those who miss it; found sums up.
func Judged(what, target, found string, missed []string) Goal {
	return Goal{What: what, Target: target, Found: found, Met: len(missed) == 0, Why: strings.Join(missed, ", ")}
}
