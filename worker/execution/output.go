package execution

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
)

// maxLine bounds a logged line of output, in bytes; longer lines are split.
const maxLine = 4 << 10

// output keeps the end of what a command writes to one stream, and logs it line by line. One goroutine reads; String is
// valid once it has ended.
type output struct {
	limit int
	log   *slog.Logger // nil: not logged
	tail  []byte
	also  io.Writer // gets a copy of the output; may be nil
	// print gets each line with its stream and the message that of returns; may be nil.
	print  func(Printed)
	of     func() string
	stream string
}

// output returns the reader of one stream. Its lines are logged with the given attributes. of returns the id of the
// message in progress.
func (c Command) output(of func() string, stream string, attributes ...any) *output {
	o := &output{limit: c.OutputLimit, print: c.Print, of: of, stream: stream}
	if o.limit <= 0 {
		o.limit = defaultOutputLimit
	}
	if c.Logger != nil && c.Print == nil && c.Logger.Enabled(context.Background(), slog.LevelDebug) {
		o.log = c.Logger.With(append(attributes, "stream", stream)...)
	}
	return o
}

// read reads r until its end or until it is closed.
func (o *output) read(r io.Reader) {
	chunk := make([]byte, maxLine)
	var line []byte
	for {
		n, err := r.Read(chunk)
		o.keep(chunk[:n])
		if o.also != nil {
			_, _ = o.also.Write(chunk[:n])
		}
		if o.log != nil || o.print != nil {
			line = o.lines(append(line, chunk[:n]...))
		}
		if err != nil {
			if len(line) > 0 {
				o.line(line)
			}
			return
		}
	}
}

// keep appends b to the tail. The tail grows to twice its limit before its older half is dropped, so that appending
// stays cheap.
func (o *output) keep(b []byte) {
	o.tail = append(o.tail, b...)
	if surplus := len(o.tail) - o.limit; surplus > o.limit {
		o.tail = append(o.tail[:0], o.tail[surplus:]...)
	}
}

// String returns the last bytes of the output.
func (o *output) String() string { return string(o.tail[max(0, len(o.tail)-o.limit):]) }

// lines passes on the complete lines of b and returns the rest.
func (o *output) lines(b []byte) []byte {
	for {
		end := bytes.IndexByte(b, '\n')
		switch {
		case end >= 0 && end <= maxLine:
			o.line(b[:end])
			b = b[end+1:]
		case len(b) > maxLine:
			o.line(b[:maxLine])
			b = b[maxLine:]
		default:
			return b
		}
	}
}

// line logs and passes on one line without its end.
func (o *output) line(line []byte) {
	if o.log != nil {
		o.log.Debug("command output", "line", escape(string(line)))
	}
	if o.print != nil {
		text := strings.ToValidUTF8(strings.TrimSuffix(string(line), "\r"), "\uFFFD")
		o.print(Printed{Message: o.of(), Stream: o.stream, Text: text})
	}
}

// escape quotes control characters, so that output can neither forge log lines nor control a terminal.
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
