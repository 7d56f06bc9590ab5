package trace

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxTime bounds an arrival and a service: ten years of 365 days. A larger number is a date or has another unit.
	MaxTime = 10 * 365 * 24 * time.Hour
	// MaxMessages bounds the messages of a trace, children included.
	MaxMessages = 1_000_000_000
	// MaxTree bounds the messages of one tree, its root included: a tree is read whole.
	MaxTree = 1_000_000
	// MaxDepth bounds how deep children have children. A root has depth 0.
	MaxDepth = 1000
	// MaxText bounds a class and a group, in bytes.
	MaxText = 256
)

// Order checks the messages of one trace, one after the other. The zero value stands at the start of a trace.
type Order struct {
	last  time.Duration
	count int64
}

// Messages returns how many messages were checked so far, children included.
func (o *Order) Messages() int64 { return o.count }

// Check returns what is wrong with the next message and its children; nil when they are allowed.
func (o *Order) Check(m Message) error {
	if err := fits(m, o.last); err != nil {
		return err
	}
	o.last = m.Arrival
	size, err := treeSize(m, 0)
	if err != nil {
		return err
	}
	if o.count += size; o.count > MaxMessages {
		return tooMany()
	}
	return nil
}

// tooMany is the error of a trace with too many messages. The functions below return other errors that several readers
// need.
func tooMany() error {
	return fmt.Errorf("found more than %d messages, which is the most a trace may have", MaxMessages)
}

// treeSize returns how many messages the tree of m has, or what is wrong with one of its children.
func treeSize(m Message, depth int) (int64, error) {
	size := int64(1)
	if len(m.Children) > 0 && depth >= MaxDepth {
		return 0, fmt.Errorf("found children of children deeper than %d, which is the deepest allowed", MaxDepth)
	}
	last := time.Duration(0)
	for _, c := range m.Children {
		if err := fits(c, last); err != nil {
			return 0, err
		}
		last = c.Arrival
		below, err := treeSize(c, depth+1)
		if err != nil {
			return 0, err
		}
		if size += below; size > MaxTree {
			return 0, treeTooLarge()
		}
	}
	return size, nil
}

// treeTooLarge is the error of a tree above MaxTree.
func treeTooLarge() error {
	return fmt.Errorf("found a tree of more than %d messages, which is the largest allowed", MaxTree)
}

// fits returns what is wrong with m alone, when the message before it arrived at last.
func fits(m Message, last time.Duration) error {
	switch {
	case m.Arrival < 0:
		return fmt.Errorf("found the arrival %s, want at least 0", m.Arrival)
	case m.Arrival > MaxTime:
		return tooLong("arrival", m.Arrival.String())
	case m.Arrival < last:
		return unsorted(seconds(m.Arrival), seconds(last))
	case m.Service < 0:
		return fmt.Errorf("found the service %s, want at least 0", m.Service)
	case m.Service > MaxTime:
		return tooLong("service", m.Service.String())
	}
	if err := textual("class", m.Class); err != nil {
		return err
	}
	return textual("group", m.Group)
}

// tooLong is the error of an arrival or a service above MaxTime. It recalls that times are relative, because a date is
// the usual mistake.
func tooLong(name, found string) error {
	return fmt.Errorf("found the %s %s, want at most %s seconds, ten years; times count from the start of the trace",
		name, found, seconds(MaxTime))
}

// unsorted is the error of an arrival before the one that it follows.
func unsorted(found, before string) error {
	return fmt.Errorf("found the arrival %s after %s, want arrivals in order: sort the lines by time", found, before)
}

// textual returns what is wrong with a class or a group: it must be short, and fit into one line of a file.
func textual(name, text string) error {
	switch {
	case len(text) > MaxText:
		return fmt.Errorf("found a %s of %d bytes, want at most %d", name, len(text), MaxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("found the %s %q, want UTF-8", name, text)
	case strings.IndexFunc(text, unicode.IsControl) >= 0:
		return fmt.Errorf("found the %s %q, want no control characters", name, text)
	}
	return nil
}

// Fault is a problem in a trace file.
type Fault struct {
	// File is the path as it was given.
	File string
	// Line counts from 1; 0 stands for the file as a whole.
	Line int64
	// Problem says what was found, what is wanted and what to do.
	Problem error
}

// Error begins with the file and the line, so that editors can jump there.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.File, f.Problem)
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Problem)
}

// Unwrap returns the problem.
func (f *Fault) Unwrap() error { return f.Problem }

// ErrEmpty is the error of a trace without any message.
var ErrEmpty = errors.New("found no message; a trace has at least one")

// near returns a question for the word that was probably meant, or "" when no word is similar.
func near(found string, words []string) string {
	// A third of the letters, and one more for short words, may be wrong.
	best, least := "", len(found)/3+2
	for _, w := range words {
		if d := distance(found, w); d < least {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance returns the least number of letters to insert, delete or change to get from a to b (Levenshtein's distance);
// 64 when one is longer than 64, because that is no typing error.
func distance(a, b string) int {
	// The table below would be large for a long text.
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, diagonal+1, change)
		}
	}
	return row[len(b)]
}
