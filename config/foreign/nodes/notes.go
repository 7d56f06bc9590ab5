package nodes

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config"
)

// maxNotes bounds how many notes are kept.
const maxNotes = 500

// Note says something of a place, which may be nil for the text as a whole.
type Note struct {
	At   *yaml.Node
	Text string
}

// Notes are what is said of places, each thing once.
type Notes []Note

// Add adds a note, as long as there is room.
func (n *Notes) Add(at *yaml.Node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	again := slices.ContainsFunc(*n, func(x Note) bool {
		return x.Text == text &&
			(x.At == at || x.At != nil && at != nil && x.At.Line == at.Line && x.At.Column == at.Column)
	})
	if !again && len(*n) < maxNotes {
		*n = append(*n, Note{at, text})
	}
}

// Faults gives notes their places, in the order of the text.
func (f *Files) Faults(all Notes) (faults []config.Fault) {
	for _, x := range all {
		line, column := 1, 1
		if x.At != nil {
			line, column = x.At.Line, x.At.Column
		}
		faults = append(faults, f.Fault(line, column, x.Text, ""))
	}
	SortFaults(faults)
	return faults
}

// SortFaults puts faults into the order of the text.
func SortFaults(all []config.Fault) {
	slices.SortStableFunc(all, func(a, b config.Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
