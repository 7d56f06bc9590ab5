package joblog

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what a record is about.
type Kind string

// The kinds of records.
const (
	// Output is a line that a job printed.
	Output Kind = "output"
	// Failed is a failed attempt at a message.
	Failed Kind = "failed"
	// Worker is a log line of the worker itself.
	Worker Kind = "worker"
)

// Record is one line of a log. Fields may be added; readers ignore unknown ones.
type Record struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	// Member is the member whose worker wrote the record.
	Member string `json:"member,omitzero"`
	// Message is the id of the message in progress; empty if unknown or if there was none.
	Message string `json:"message,omitzero"`
	// Stream is stdout or stderr, for Output. Level is DEBUG, INFO, WARN or ERROR, for Worker.
	Stream string `json:"stream,omitzero"`
	Level  string `json:"level,omitzero"`
	// Text is the line, or the error of the failure.
	Text string `json:"text"`
	// Repeated is the number of equal records before this one that were not written; 0 for a record
	// that stands only for itself.
	Repeated int `json:"repeated,omitzero"`
	// Failure is the failure of a Failed record.
	Failure *Failure `json:"failure,omitzero"`
}

// Failure is a failed attempt at a message.
type Failure struct {
	At      time.Time `json:"at"`
	Fleet   string    `json:"fleet,omitzero"`
	Member  string    `json:"member,omitzero"`
	Queue   string    `json:"queue"`
	Message string    `json:"message"`
	// Attempt is the number of the attempt, from 1; 0 means unknown.
	Attempt int `json:"attempt,omitzero"`
	// Error says what failed. Status is the exit status of a command that exited, Signal the signal
	// that ended it.
	Error  string `json:"error"`
	Status *int   `json:"status,omitzero"`
	Signal string `json:"signal,omitzero"`
	// Output is the end of the job's standard error, or of its standard output if that is empty.
	Output string `json:"output,omitzero"`
	// TookSeconds is the duration of the attempt.
	TookSeconds float64 `json:"took_seconds"`
	// AgainSeconds is the time until the next attempt; absent if unknown, or if there is none.
	AgainSeconds *float64 `json:"again_seconds,omitzero"`
	// DeadLetter says that the worker moved the message to the dead-letter queue.
	DeadLetter bool `json:"dead_letter,omitzero"`
}

const (
	// maxText bounds the text of a record, maxOutput the Output of a Failure, in bytes.
	maxText   = 4 << 10
	maxOutput = 2 << 10
)

// bounded returns r with valid UTF-8 texts within the bounds.
func (r Record) bounded() Record {
	r.Text = head(r.Text, maxText)
	if r.Failure != nil {
		f := *r.Failure
		f.Error, f.Output = head(f.Error, maxText), Tail(f.Output, maxOutput)
		r.Failure = &f
	}
	return r
}

// head returns the first bytes of a text, at most most, cut between characters.
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

// Tail returns the last lines of a text, at most most bytes, without a final line end. If the last line
// alone is longer, it returns the end of that line.
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
