package nodes

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config"
)

// maxNotes bounds the notes of one reading.
const maxNotes = 500

// Note is a sentence about a place, which is nil for the text as a whole.
type Note struct {
	At   *yaml.Node
	Text string
}

// Notes are sentences about places. The same sentence about the same place is kept once, because loops and references
// lead to one place many times.
type Notes []Note

// Add adds a note, up to the bound.
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

// Faults returns notes with file and line, in the order of the text.
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

// SortFaults sorts faults by file, line and column.
func SortFaults(all []config.Fault) {
	slices.SortStableFunc(all, func(a, b config.Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
