package keys

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// This file has the faults of a text and how they are printed: the place, the message, the line with a caret below the
// value, and a hint.

// FaultKind says what a [Fault] is.
type FaultKind string

// The kinds.
const (
	// IsFault keeps the configuration from being used, IsRemark does not: the configuration is valid, and may not mean
	// what it seems.
	IsFault  FaultKind = "fault"
	IsRemark FaultKind = "remark"
)

// Fault is a problem in a configuration, with its place, or a remark on it.
type Fault struct {
	// Kind tells faults from remarks; it is empty in notes on other texts: see [FaultAt].
	Kind FaultKind `json:"kind,omitzero"`
	// File is the name the text was given.
	File string `json:"file"`
	// Line and Column count from 1, columns in characters. They lie within the text, or right behind it.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Path is the place as a path of keys, as in "fleets[0].workers.command".
	Path string `json:"path,omitzero"`
	// Message says what was found and what is allowed.
	Message string `json:"message"`
	// Hint says what to do, where that is not plain from the message.
	Hint string `json:"hint,omitzero"`
	// Source is the line of the text, or 100 characters of it around the column when it is longer.
	Source string `json:"source"`
	// from is the column before Source.
	from int
}

// String renders the fault on one line; a remark is called one.
func (f Fault) String() string {
	s := f.head()
	if f.Hint != "" {
		s += "; " + f.Hint
	}
	return s
}

// withoutPasswords returns a line with an asterisk for each character of a password in a URL: a fault goes to logs and
// to the API. The columns stay where they are.
func withoutPasswords(line string) string {
	_, rest, is := strings.Cut(line, "://")
	if !is {
		return line
	}
	done := line[:len(line)-len(rest)]
	host, next := rest, ""
	if end := strings.IndexAny(rest, "/?# \t\"',}]"); end >= 0 {
		host, next = rest[:end], rest[end:]
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		if user, password, has := strings.Cut(host[:at], ":"); has {
			host = user + ":" + strings.Repeat("*", utf8.RuneCountInString(password)) + host[at:]
		}
	}
	return done + host + withoutPasswords(next)
}

// head is the place and the message.
func (f Fault) head() string {
	kind := ""
	if f.Kind == IsRemark {
		kind = string(IsRemark) + ": "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", f.File, f.Line, f.Column, kind, f.Message)
}

// Error renders the fault with its line and a caret below what is meant.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.head() + "\n")
	fmt.Fprintf(&b, "%5d | %s\n", f.Line, strings.TrimRight(strings.ReplaceAll(f.Source, "\t", " "), " "))
	fmt.Fprintf(&b, "%5s | %*s", "", f.Column-f.from, "^")
	if f.Hint != "" {
		b.WriteString(" " + f.Hint)
	}
	return b.String()
}

const (
	// frameWidth bounds the characters of a line that are shown, maxShown the faults that are rendered, maxFaults those
	// that are collected.
	frameWidth = 100
	maxShown   = 50
	maxFaults  = 1000
)

// Faults are all the faults of one configuration, up to a thousand, sorted by place; there is at least one.
type Faults []Fault

// Error renders the faults one below the other, the first 50 of them.
func (f Faults) Error() string {
	var parts []string
	for _, one := range f[:min(len(f), maxShown)] {
		parts = append(parts, one.Error())
	}
	if more := len(f) - maxShown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "\n")
}

// FaultAt returns a fault at a place of a text that is not a configuration, with its message and its hint. Line and
// column count from 1; a place outside of the text becomes the nearest one within.
func FaultAt(name string, text []byte, line, column int, message, hint string) Fault {
	s := NewSource(name, text)
	s.kind = ""
	s.at(place{line, column}, "", message, hint)
	return s.faults[0]
}
