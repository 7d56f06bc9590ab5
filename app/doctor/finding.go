package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Finding is the result of one check.
type Finding struct {
	// Fleet is empty for a finding that concerns all fleets.
	Fleet string `json:"fleet,omitzero"`
	// Check names what was checked, as in "queue" or "abilities".
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// Level says how much a finding matters.
type Level string

// The levels, the gravest first.
const (
	Wrong     Level = "wrong"
	Unchecked Level = "unchecked"
	Note      Level = "note"
	OK        Level = "ok"
)

// Levels are all levels, the gravest first.
func Levels() []Level { return []Level{Wrong, Unchecked, Note, OK} }

// CountWrong returns how many of the findings are wrong. The command fails if there is one.
func CountWrong(all []Finding) int {
	n := 0
	for _, f := range all {
		if f.Level == Wrong {
			n++
		}
	}
	return n
}

// Lines renders the findings, one line each, the gravest first: a problem among many lines of ok would be overlooked.
func Lines(all []Finding) string {
	var b strings.Builder
	for _, level := range Levels() {
		for _, f := range all {
			if f.Level != level {
				continue
			}
			where := f.Check
			if f.Fleet != "" {
				where = f.Fleet + " " + f.Check
			}
			fmt.Fprintf(&b, "%-9s  %s: %s\n", f.Level, where, f.Text)
		}
	}
	return b.String()
}

// findings collects results. exam contains it.
type findings struct{ all []Finding }

func (f *findings) add(fleet, check string, level Level, format string, args ...any) {
	f.all = append(f.all, Finding{fleet, check, level, fmt.Sprintf(format, args...)})
}

// result adds the result of a check, and tells whether it succeeded.
func (f *findings) result(fleet, check string, err error, format string, args ...any) bool {
	if err != nil {
		f.add(fleet, check, Wrong, "%v", err)
		return false
	}
	f.add(fleet, check, OK, format, args...)
	return true
}

// oneLine joins the lines of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// without returns names without name.
func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}
