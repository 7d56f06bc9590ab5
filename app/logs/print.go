package logs

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
)

const (
	// shortID is how many characters of a message's id are printed.
	shortID = 8
	// maxPeriod is the most lines of a repeated block. maxPlain is how many repeated lines are printed before they are
	// folded.
	maxPeriod, maxPlain = 8, 2
	// foldIdle is how long a followed log waits for more repetitions before it prints their count.
	foldIdle = 2 * time.Second
)

// NewPrinter returns a printer of records to out, one line each. It leaves out today's date, as of now. It folds
// repeated lines into one with a count, unless all is true. With failed it adds the output of failed attempts.
func NewPrinter(out io.Writer, now time.Time, failed, all bool) Printer {
	p := &printer{out: out, failed: failed, today: now.Local().Format(time.DateOnly)}
	if all {
		return p
	}
	return &folding{printer: p}
}

// printer prints records, one line each.
type printer struct {
	out io.Writer
	// failed means that only failures are printed, with their output.
	failed bool
	// today is the date that is left out.
	today string
	err   error
}

// printf prints a text and keeps the first error.
func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format, args...); p.err == nil {
		p.err = err
	}
}

// Pause implements [Printer].
func (p *printer) Pause(bool) error { return p.err }

// clock renders a local time, with its date unless that is today.
func (p *printer) clock(at time.Time) string {
	local := at.Local()
	if date := local.Format(time.DateOnly); date != p.today {
		return date + " " + local.Format("15:04:05.000")
	}
	return local.Format("15:04:05.000")
}

// Show implements [Printer].
func (p *printer) Show(r joblog.Record) error {
	label, text := labelOf(r), terminal.Escape(r.Text, "\t")
	if r.Failure != nil {
		text = attemptText(r.Failure)
	}
	if r.Repeated > 0 {
		text += fmt.Sprintf("  (%s like it)", render.Plural(r.Repeated, "more line"))
	}
	member, id := cmp.Or(terminal.Escape(r.Member, ""), "-"), cmp.Or(terminal.Escape(r.Message[:min(len(r.Message),
		shortID)], ""), "-")
	p.printf("%s %s %s %-6s %s\n", p.clock(r.At), member, id, label, text)
	if p.failed && r.Failure != nil && r.Failure.Output != "" {
		for line := range strings.Lines(r.Failure.Output) {
			p.printf("    | %s\n", terminal.Escape(strings.TrimRight(line, "\r\n"), "\t"))
		}
	}
	return p.err
}

// labelOf names a record in capitals for a failure, by its stream for output, and else by its level.
func labelOf(r joblog.Record) string {
	switch r.Kind {
	case joblog.Output:
		return terminal.Escape(r.Stream, "")
	case joblog.Failed:
		return "FAILED"
	}
	return strings.ToLower(terminal.Escape(cmp.Or(r.Level, string(r.Kind)), ""))
}

// attemptText says on one line how an attempt failed and what happens next.
func attemptText(f *joblog.Failure) string {
	switch {
	case f.DeadLetter:
		return Attempt(f) + "; moved to the dead letters"
	case f.AgainSeconds != nil:
		return Attempt(f) + "; again in " + render.Seconds(*f.AgainSeconds)
	}
	return Attempt(f)
}

// Attempt says on one line how an attempt failed: its number, its duration and the error.
func Attempt(f *joblog.Failure) string {
	attempt := "an attempt"
	if f.Attempt > 0 {
		attempt = fmt.Sprintf("attempt %d", f.Attempt)
	}
	return fmt.Sprintf("%s after %s: %s", attempt, render.Seconds(f.TookSeconds), terminal.Escape(f.Error, ""))
}

// folding prints the first of repeated lines, or of repeated blocks of up to eight lines, and then a count of the
// others. A job that fails in a loop prints the same lines thousands of times, and the one different line between them
// must stay visible.
type folding struct {
	printer *printer
	// recent are the keys of the last printed lines, the newest last.
	recent []string
	// period is the number of lines of the repeated block; 0 while nothing repeats. block holds the keys of these
	// lines, and held the records of a repetition that is not complete yet.
	period int
	block  []string
	held   []joblog.Record
	// folded are the first records of complete repetitions; lines counts all their records.
	folded   []joblog.Record
	lines    int
	messages map[string]bool
	// unnamed is true when a record stands for several, whose messages are unknown.
	unnamed bool
	last    joblog.Record
	takenAt time.Time
}

// maxMessages bounds the distinct messages of a count.
const maxMessages = 100_000

// keyOf identifies records that count as repetitions: the same text, whatever the message.
func keyOf(r joblog.Record) string {
	key := string(r.Kind) + "\x00" + r.Stream + "\x00" + r.Text
	if r.Failure != nil {
		key += "\x00" + r.Failure.Output
	}
	return key
}

// Pause implements [Printer].
func (f *folding) Pause(last bool) error {
	if last || f.idle() {
		f.end()
	}
	return f.printer.err
}

// Show implements [Printer].
func (f *folding) Show(r joblog.Record) error {
	f.takenAt = time.Now()
	key := keyOf(r)
	if f.period == 0 {
		f.period = f.repeats(key)
		f.block = append([]string(nil), f.recent[len(f.recent)-f.period:]...)
	}
	if f.period > 0 && key == f.block[len(f.held)] {
		if f.held = append(f.held, r); len(f.held) == f.period {
			f.complete()
		}
		return f.printer.err
	}
	if f.period > 0 {
		f.end()
		return f.Show(r)
	}
	return f.plain(r)
}

// repeats returns the length of the block that key may repeat; 0 if it repeats none of the last lines.
func (f *folding) repeats(key string) int {
	for p := 1; p <= min(maxPeriod, len(f.recent)); p++ {
		if f.recent[len(f.recent)-p] == key {
			return p
		}
	}
	return 0
}

// complete counts a complete repetition.
func (f *folding) complete() {
	if f.messages == nil {
		f.messages = map[string]bool{}
	}
	for _, r := range f.held {
		f.lines += max(1, r.Repeated)
		f.unnamed = f.unnamed || r.Repeated > 1
		if r.Message != "" && len(f.messages) < maxMessages {
			f.messages[r.Message] = true
		}
		if len(f.folded) <= maxPlain {
			f.folded = append(f.folded, r)
		}
		f.last = r
	}
	f.held = f.held[:0]
}

// plain prints a line that is no repetition.
func (f *folding) plain(r joblog.Record) error {
	if f.recent = append(f.recent, keyOf(r)); len(f.recent) > 2*maxPeriod {
		f.recent = append(f.recent[:0], f.recent[len(f.recent)-maxPeriod:]...)
	}
	return f.printer.Show(r)
}

// idle tells whether the last repetition is at least foldIdle ago.
func (f *folding) idle() bool { return f.period > 0 && time.Since(f.takenAt) >= foldIdle }

// end prints the count of repetitions, and the lines of an incomplete one.
func (f *folding) end() {
	held := f.held
	block := f.block
	if f.lines <= maxPlain {
		for _, r := range f.folded {
			f.printer.Show(r)
		}
	} else {
		like := "like it"
		if f.period > 1 {
			like = fmt.Sprintf("like the last %d", f.period)
		}
		of := ""
		if n := len(f.messages); n > 1 && f.unnamed {
			of = fmt.Sprintf(", of %d messages or more", n)
		} else if n > 1 {
			of = fmt.Sprintf(", of %d messages", n)
		}
		f.printer.printf("    ... %d more lines %s until %s%s\n", f.lines, like, f.printer.clock(f.last.At), of)
	}
	*f = folding{printer: f.printer, recent: f.recent, takenAt: f.takenAt}
	for _, r := range held {
		_ = f.plain(r)
	}
	if len(held) == 0 && len(block) > 0 {
		f.recent = append(f.recent[:0], block...)
	}
}

// maxOutputShown bounds the output shown on a line, in characters.
const maxOutputShown = 100

// Failure says on one line why an attempt failed, with the last line of its output.
func Failure(f *joblog.Failure) string {
	text, _ := terminal.Clip(f.Error, 3*maxOutputShown)
	output := f.Output[strings.LastIndexByte(f.Output, '\n')+1:]
	if output == "" {
		return text
	}
	last, cut := terminal.Clip(output, maxOutputShown)
	if cut {
		last += "..."
	}
	return fmt.Sprintf("%s (%s)", text, last)
}
