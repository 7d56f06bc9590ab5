package joblog

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what a record tells of.
type Kind string

// The kinds of records.
const (
	// Output is a line that a job printed.
	Output Kind = "output"
	// Failed is an attempt at a message that failed.
	Failed Kind = "failed"
	// Worker is what the worker itself says.
	Worker Kind = "worker"
)

// Record is one line of a log. Fields may be added; readers ignore those they do not know.
type Record struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	// Member is the member whose worker wrote it.
	Member string `json:"member,omitzero"`
	// Message is the id of the message that was worked on; empty where that is unknown, or where there was none.
	Message string `json:"message,omitzero"`
	// Stream is stdout or stderr, of an Output; Level is DEBUG, INFO, WARN or ERROR, of a Worker.
	Stream string `json:"stream,omitzero"`
	Level  string `json:"level,omitzero"`
	// Text is the line, or the failure's error.
	Text string `json:"text"`
	// Repeated is how many more such records there were, of which this is the last; 0 for a record that stands for
	// itself.
	Repeated int `json:"repeated,omitzero"`
	// Failure is that of a Failed record.
	Failure *Failure `json:"failure,omitzero"`
}

// Failure tells of an attempt at a message that failed.
type Failure struct {
	At      time.Time `json:"at"`
	Fleet   string    `json:"fleet,omitzero"`
	Member  string    `json:"member,omitzero"`
	Queue   string    `json:"queue"`
	Message string    `json:"message"`
	// Attempt is the number of the attempt, from 1; 0 means unknown.
	Attempt int `json:"attempt,omitzero"`
	// Error says what failed. Status is the exit status of a command that exited; Signal names the signal that ended
	// it.
	Error  string `json:"error"`
	Status *int   `json:"status,omitzero"`
	Signal string `json:"signal,omitzero"`
	// Output is the end of what the job printed: of standard error, or of standard output when that is empty.
	Output string `json:"output,omitzero"`
	// TookSeconds is how long the attempt took.
	TookSeconds float64 `json:"took_seconds"`
	// AgainSeconds is after how long the message is tried again; absent when it is not known, or never.
	AgainSeconds *float64 `json:"again_seconds,omitzero"`
	// DeadLetter says that the worker moved the message to the dead letters.
	DeadLetter bool `json:"dead_letter,omitzero"`
}

const (
	// maxText bounds the text of a record, and maxOutput the Output of a Failure, in bytes.
	maxText   = 4 << 10
	maxOutput = 2 << 10
)

// bounded returns the record with texts that are valid and not too long.
func (r Record) bounded() Record {
	r.Text = head(r.Text, maxText)
	if r.Failure != nil {
		f := *r.Failure
		f.Error, f.Output = head(f.Error, maxText), Tail(f.Output, maxOutput)
		r.Failure = &f
	}
	return r
}

// head returns the first bytes of a text, cut between characters.
func head(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Tail returns the last lines of a text that have at most so many bytes together, or the end of the last one when that
// alone is longer. It has no line end at its end.
func Tail(text string, most int) string {
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), " \t\r\n")
	if len(text) <= most {
		return text
	}
	from := len(text) - most
	if end := strings.IndexByte(text[from:], '\n'); end >= 0 && end+1 < most {
		return text[from+end+1:]
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
