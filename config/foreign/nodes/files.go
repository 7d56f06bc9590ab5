package nodes

import (
	"bytes"

	"github.com/muster-scale/muster/config"
)

// Files are the texts of one reading. Their lines count on from each other: the first line of the second file follows
// the last one of the first.
type Files struct{ all []file }

// file is one text, and how many lines there are before it.
type file struct {
	name   string
	text   []byte
	before int
}

// Add adds a text and returns how many lines there are before it.
func (f *Files) Add(name string, text []byte) (before int) {
	if n := len(f.all); n > 0 {
		last := f.all[n-1]
		before = last.before + bytes.Count(last.text, []byte("\n")) + 1
	}
	f.all = append(f.all, file{name, text, before})
	return before
}

// Fault is what is said of a place, with the file and the line in it.
func (f *Files) Fault(line, column int, message, hint string) config.Fault {
	of := f.holding(line)
	line = max(1, line-of.before)
	fault := config.FaultAt(of.name, of.line(line), 1, column, message, hint)
	fault.Line = min(line, bytes.Count(of.text, []byte("\n"))+1)
	return fault
}

// holding is the file that a line lies in.
func (f *Files) holding(line int) (of file) {
	for i, x := range f.all {
		if i == 0 || x.before < line {
			of = x
		}
	}
	return of
}

// line is the text of a line, counted from 1; of the last one for what is beyond.
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
