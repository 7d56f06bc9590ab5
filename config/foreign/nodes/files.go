package nodes

import (
	"bytes"

	"github.com/muster-scale/muster/config"
)

// Files are the texts of one reading. Their lines are numbered through: the first line of the second file follows the
// last line of the first.
type Files struct{ all []file }

// file is one text, and the number of lines before it.
type file struct {
	name   string
	text   []byte
	before int
}

// Add adds a text and returns the number of lines before it.
func (f *Files) Add(name string, text []byte) (before int) {
	if n := len(f.all); n > 0 {
		last := f.all[n-1]
		before = last.before + bytes.Count(last.text, []byte("\n")) + 1
	}
	f.all = append(f.all, file{name, text, before})
	return before
}

// Fault returns a fault at a place, with the name of its file and the line in that file.
func (f *Files) Fault(line, column int, message, hint string) config.Fault {
	of := f.holding(line)
	line = max(1, line-of.before)
	fault := config.FaultAt(of.name, of.line(line), 1, column, message, hint)
	fault.Line = min(line, bytes.Count(of.text, []byte("\n"))+1)
	return fault
}

// holding returns the file that a line is in.
func (f *Files) holding(line int) (of file) {
	for i, x := range f.all {
		if i == 0 || x.before < line {
			of = x
		}
	}
	return of
}

// line returns a line of the file, counted from 1; the last one for a higher number.
func (f file) line(n int) []byte {
	text := f.text
	for ; n > 1; n-- {
		_, rest, found := bytes.Cut(text, []byte("\n"))
		if !found {
			break
		}
		text = rest
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
