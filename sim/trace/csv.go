package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The columns of a trace in CSV. The first two are required.
const (
	columnArrival = "arrival_s"
	columnService = "service_s"
	columnClass   = "class"
	columnGroup   = "group"
	columnDepth   = "depth"
)

// csvColumns returns all columns; the first two are required.
func csvColumns() []string {
	return []string{columnArrival, columnService, columnClass, columnGroup, columnDepth}
}

// header reads a line of column names, which must all be allowed and contain the required ones.
func header(line []byte, required, allowed []string) ([]string, error) {
	var found []string
	for name := range strings.SplitSeq(string(line), ",") {
		name = bare(name)
		switch {
		// A file without a header begins with a number.
		case len(found) == 0 && strings.IndexFunc(name, isLetter) < 0:
			return nil, fmt.Errorf("found %q, want the names of the columns first: %s", short(line),
				strings.Join(required, ","))
		case !slices.Contains(allowed, name):
			return nil, fmt.Errorf("found the unknown column %q, allowed are %s%s", short([]byte(name)),
				strings.Join(allowed, ", "), near(name, allowed))
		case slices.Contains(found, name):
			return nil, fmt.Errorf("found the column %s twice", name)
		}
		found = append(found, name)
	}
	for _, name := range required {
		if !slices.Contains(found, name) {
			return nil, fmt.Errorf("found the columns %s, want %s among them", strings.Join(found, ", "),
				strings.Join(required, " and "))
		}
	}
	return found, nil
}

// isLetter tells headers from numbers: a first field without any letter is data, and the header is missing.
func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// csvReader reads the columns of [csvColumns] in any order. A line of depth d is a child of the last line before it
// with depth d-1; without that column all messages are roots. A tree is returned whole, so the reader must read one
// line ahead to know where it ends.
type csvReader struct {
	*lines
	// row has the fields of the present line, and names the classes and groups seen so far.
	row    fields
	place  [5]int // the field of each of csvColumns, or -1 for a missing one
	names  names
	order  Order
	deep   bool    // there is a column with the depth
	first  Message // the root of the next tree, when it was read ahead
	ahead  bool
	failed error
}

// newCSV reads the header.
func newCSV(l *lines) (Reader, error) {
	line, err := l.next()
	if err == io.EOF {
		return nil, l.whole(ErrEmpty)
	}
	if err != nil {
		return nil, err
	}
	found, err := header(line, csvColumns()[:2], csvColumns())
	if err != nil {
		return nil, l.fault(err)
	}
	r := &csvReader{lines: l, row: fields{names: found}, names: names{}}
	for i, name := range csvColumns() {
		r.place[i] = slices.Index(found, name)
	}
	r.deep = r.place[4] >= 0
	return r, nil
}

// Next returns the next root with its children.
func (r *csvReader) Next() (Message, error) {
	// A reader that has failed stays so: what follows a broken line cannot be trusted.
	if r.failed != nil {
		return Message{}, r.failed
	}
	m, err := r.tree()
	if err == io.EOF && r.order.count == 0 {
		err = r.whole(ErrEmpty)
	}
	r.failed = err
	return m, err
}

// tree returns the next root with its children.
func (r *csvReader) tree() (Message, error) {
	root := r.first
	if !r.ahead {
		m, depth, err := r.line()
		if err != nil {
			return m, err
		}
		if depth != 0 {
			return m, r.fault(fmt.Errorf("found the depth %d first, want a root: depth 0", depth))
		}
		root = m
	}
	// Arrivals of roots ascend over the whole file, those of children among the children of one parent.
	if root.Arrival < r.order.last {
		return root, r.fault(unsorted(seconds(root.Arrival), seconds(r.order.last)))
	}
	r.order.last, r.ahead = root.Arrival, false
	if !r.deep {
		return root, nil
	}
	return r.grow(root)
}

// grow reads the children of root until the next root. levels[d] holds the messages of depth d+1 whose parent is the
// newest message of the level above, or root. When a line returns to a smaller depth, the deeper levels are complete
// and move to their parents.
func (r *csvReader) grow(root Message) (Message, error) {
	var levels [][]Message
	size := 1
	for {
		m, depth, err := r.line()
		if err == io.EOF || err == nil && depth == 0 {
			r.first, r.ahead = m, err == nil
			root.Children = fold(levels, 0)
			return root, nil
		}
		if err != nil {
			return m, err
		}
		if depth > len(levels)+1 {
			return m, r.fault(fmt.Errorf("found the depth %d below a line of depth %d, want at most one more", depth,
				len(levels)))
		}
		// A tree is held in memory as a whole, so its size must be bounded before it is complete.
		if size++; size > MaxTree {
			return m, r.fault(treeTooLarge())
		}
		// A line that is not deeper than the one before ends the levels below its own.
		if depth <= len(levels) {
			if below := fold(levels, depth); below != nil {
				last := levels[depth-1]
				last[len(last)-1].Children = below
			}
			levels = levels[:depth]
		} else {
			levels = append(levels, nil)
		}
		before := levels[depth-1]
		if n := len(before); n > 0 && m.Arrival < before[n-1].Arrival {
			return m, r.fault(unsorted(seconds(m.Arrival), seconds(before[n-1].Arrival)))
		}
		levels[depth-1] = append(before, m)
	}
}

// fold moves the messages of each level deeper than from to their parents, and returns those of the level from.
func fold(levels [][]Message, from int) []Message {
	if from >= len(levels) {
		return nil
	}
	for d := len(levels) - 1; d > from; d-- {
		parents := levels[d-1]
		parents[len(parents)-1].Children = levels[d]
	}
	return levels[from]
}

// line reads one line: a message without its children, and its depth.
func (r *csvReader) line() (m Message, depth int, err error) {
	line, err := r.next()
	if err != nil {
		return m, 0, err
	}
	if r.order.count++; r.order.count > MaxMessages {
		return m, 0, r.fault(tooMany())
	}
	if err = r.row.split(line); err == nil {
		m, depth, err = r.message()
	}
	if err != nil {
		return Message{}, 0, r.fault(err)
	}
	return m, depth, nil
}

// message makes a message of the fields of the present line.
func (r *csvReader) message() (m Message, depth int, err error) {
	if m.Arrival, err = parseSeconds(columnArrival, r.row.number(r.place[0])); err != nil {
		return m, 0, err
	}
	if m.Service, err = parseSeconds(columnService, r.row.number(r.place[1])); err != nil {
		return m, 0, err
	}
	if at := r.place[2]; at >= 0 {
		if m.Class, err = r.names.of(columnClass, r.row.text(at)); err != nil {
			return m, 0, err
		}
	}
	if at := r.place[3]; at >= 0 {
		if m.Group, err = r.names.of(columnGroup, r.row.text(at)); err != nil {
			return m, 0, err
		}
	}
	// The depth is compared with MaxDepth here, and with the line before it in grow.
	if r.deep {
		text := r.row.number(r.place[4])
		if depth, err = strconv.Atoi(string(text)); err != nil || depth < 0 || depth > MaxDepth {
			return m, 0, fmt.Errorf("found the depth %q, want a whole number from 0, a root, to %d", short(text),
				MaxDepth)
		}
	}
	return m, depth, nil
}

// names keeps one copy of each class and group, because a trace of a million lines often has three of them. It keeps at
// most 16,384, so that a file with a group for each message does not fill the memory.
type names map[string]string

// of returns the name in text, after checking that it may stand in a trace.
func (n names) of(column string, text []byte) (string, error) {
	if len(text) == 0 {
		return "", nil
	}
	if known, ok := n[string(text)]; ok { // the compiler makes no copy here
		return known, nil
	}
	name := string(text)
	if err := textual(column, name); err != nil {
		return "", err
	}
	// More names are still returned, each as a copy of its own.
	if len(n) < 1<<14 {
		n[name] = name
	}
	return name, nil
}

// fields splits one line. A field may stand in quotes, with two quotes for one within. It is written by hand because
// encoding/csv allocates each field.
type fields struct {
	names  []string
	values [5][]byte
	quoted [5]bool
}

// split finds the fields of line. It may change line, and the fields point into it.
func (f *fields) split(line []byte) error {
	rest, n := line, 0
	for more := true; more; n++ {
		if n == len(f.names) {
			return fmt.Errorf("found more than %d fields, want %s", n, strings.Join(f.names, ","))
		}
		var err error
		if len(rest) > 0 && rest[0] == '"' {
			f.quoted[n] = true
			if f.values[n], rest, more, err = unquote(rest); err != nil {
				return err
			}
			continue
		}
		// Most fields have no quotes; they are found without copying.
		f.quoted[n] = false
		end := 0
		for end < len(rest) && rest[end] != ',' {
			end++
		}
		f.values[n] = rest[:end]
		if more = end < len(rest); more {
			rest = rest[end+1:]
		}
	}
	if n < len(f.names) {
		return fmt.Errorf("found %q, want %d fields: %s", short(line), len(f.names), strings.Join(f.names, ","))
	}
	return nil
}

// unquote removes a quoted field from rest and returns it, with what follows its comma. Doubled quotes become one in
// place. more tells whether a field follows.
func unquote(rest []byte) (value, after []byte, more bool, err error) {
	// The value grows over bytes that were read already, so nothing is copied elsewhere.
	value = rest[1:1]
	for i := 1; i < len(rest); i++ {
		if rest[i] != '"' {
			value = append(value, rest[i])
			continue
		}
		switch {
		case i+1 == len(rest):
			return value, nil, false, nil
		case rest[i+1] == ',':
			return value, rest[i+2:], true, nil
		case rest[i+1] != '"':
			return nil, nil, false, fmt.Errorf("found %q after a closing quote, want a comma or the end of the line",
				rest[i+1])
		}
		value = append(value, '"')
		i++
	}
	return nil, nil, false, errors.New("found a quote that is not closed in its line")
}

// number returns a field without the spaces around it.
func (f *fields) number(at int) []byte { return trim(f.values[at]) }

// text returns a field; spaces around it count only within quotes.
func (f *fields) text(at int) []byte {
	if f.quoted[at] {
		return f.values[at]
	}
	return trim(f.values[at])
}

// appendText appends a class or group in the form in which reading gives the same text again.
func appendText(to []byte, text string) []byte {
	if !strings.ContainsAny(text, `",`) && strings.TrimSpace(text) == text {
		return append(to, text...)
	}
	to = append(to, '"')
	for i := range len(text) {
		if text[i] == '"' {
			to = append(to, '"')
		}
		to = append(to, text[i])
	}
	return append(to, '"')
}
