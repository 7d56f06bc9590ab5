package worker

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
)

// maxLine bounds a logged line of output, in bytes; longer ones are logged in pieces.
const maxLine = 4 << 10

// output keeps the end of what a command writes to one stream, and logs it by the line. One goroutine reads; the end may
// be had once it is done.
type output struct {
	limit int
	log   *slog.Logger // nil: not logged
	tail  []byte
	also  io.Writer // gets everything too; nil: nobody does
}

// output returns a reader of one stream, whose lines are logged with the given attributes.
func (c Command) output(attributes ...any) *output {
	o := &output{limit: c.OutputLimit}
	if o.limit <= 0 {
		o.limit = defaultOutputLimit
	}
	if c.Logger != nil && c.Logger.Enabled(context.Background(), slog.LevelDebug) {
		o.log = c.Logger.With(attributes...)
	}
	return o
}

// read takes everything that comes from r, until its end or until it is closed.
func (o *output) read(r io.Reader) {
	chunk := make([]byte, maxLine)
	var line []byte
	for {
		n, err := r.Read(chunk)
		o.keep(chunk[:n])
		if o.also != nil {
			_, _ = o.also.Write(chunk[:n])
		}
		if o.log != nil {
			line = o.logLines(append(line, chunk[:n]...))
		}
		if err != nil {
			if len(line) > 0 {
				o.logLine(line)
			}
			return
		}
	}
}

// keep appends b to the tail. The tail grows to twice its limit before its older half goes, so that writing stays cheap.
func (o *output) keep(b []byte) {
	o.tail = append(o.tail, b...)
	if surplus := len(o.tail) - o.limit; surplus > o.limit {
		o.tail = append(o.tail[:0], o.tail[surplus:]...)
	}
}

// String returns the last bytes of the output.
func (o *output) String() string { return string(o.tail[max(0, len(o.tail)-o.limit):]) }

// logLines logs the whole lines in b and returns the rest.
func (o *output) logLines(b []byte) []byte {
	for {
		end := bytes.IndexByte(b, '\n')
		switch {
		case end >= 0 && end <= maxLine:
			o.logLine(b[:end])
			b = b[end+1:]
		case len(b) > maxLine:
			o.logLine(b[:maxLine])
			b = b[maxLine:]
		default:
			return b
		}
	}
}

func (o *output) logLine(line []byte) {
	o.log.Debug("command output", "line", escape(string(line)))
}

// escape writes control characters as Go does, so that output can neither forge log lines nor steer a terminal.
func escape(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r == '\t' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
