package queuetool

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/queue"
)

// ImportResult is what came of an import, as muster queue import -o json prints it, also when it fails.
type ImportResult struct {
	Queue string `json:"queue"`
	// File is - for standard input.
	File     string `json:"file"`
	Imported int    `json:"imported"`
	// Duplicates were sent to a FIFO queue within five minutes already, and are not there twice.
	Duplicates int `json:"duplicates"`
	// NextLine is the first line that was not taken: where to go on.
	NextLine int `json:"next_line"`
	// Uncertain is the number of lines from NextLine on of which nobody knows whether they were taken.
	Uncertain int    `json:"uncertain"`
	Error     string `json:"error,omitzero"`
}

const (
	// importLines and importBytes bound what is sent at a time; a longer line goes alone.
	importLines = 500
	importBytes = 1 << 20
)

// OpenLines opens a file of lines, decompressed when its name ends in .gz, or stdin for the name -.
func OpenLines(name string, stdin io.Reader) (lines io.Reader, closeLines func() error, err error) {
	if name == "-" {
		if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return nil, nil, errors.New("import: found a terminal as standard input; name a file, or pipe the lines " +
				"into it")
		}
		return stdin, func() error { return nil }, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("import: %w", err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return f, f.Close, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("import: %s is no gzip file: %w", name, err)
	}
	return z, f.Close, nil
}

// Import sends the messages of a file of JSON lines to a queue, from the line from on; 1 is the first. The result is
// right also after an error. How far it is shows on progress.
func (o *Queues) Import(ctx context.Context, name, file string, lines io.Reader, from int, progress io.Writer) (
	ImportResult, error,
) {
	in := &importing{access: o, result: ImportResult{Queue: name, File: file, NextLine: 1}, from: from, line: 1,
		shown: terminal.NewProgress(progress, "imported", 0)}
	defer in.shown.Done()
	err := in.run(ctx, lines)
	if err != nil {
		in.result.Error = err.Error()
	}
	return in.result, err
}

// importing is an import under way. Its result is right at any time.
type importing struct {
	access access
	result ImportResult
	from   int // the first line that is wanted
	line   int // the first line of the batch
	batch  bytes.Buffer
	lines  int // of the batch
	shown  *terminal.Progress
}

func (in *importing) run(ctx context.Context, from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), queue.MaxImportLine)
	for lines.Scan() {
		if ctx.Err() != nil {
			return in.stopped()
		}
		if in.line < in.from {
			in.line++
			in.result.NextLine = in.line
			continue
		}
		if in.lines == importLines || in.batch.Len()+len(lines.Bytes()) > importBytes {
			if err := in.send(ctx); err != nil {
				return err
			}
		}
		in.batch.Write(lines.Bytes())
		in.batch.WriteByte('\n')
		in.lines++
	}
	if err := in.send(ctx); err != nil {
		return err
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it is longer than %d bytes, which no message is", queue.MaxImportLine)
	}
	if err != nil {
		return in.wrong(err)
	}
	if in.line < in.from {
		return misuse.Errorf("--from-line: found %d, but %s has %d lines", in.from, in.file(), in.line-1)
	}
	return nil
}

// send hands the batch over. It is not interrupted, so that what was taken is known.
func (in *importing) send(ctx context.Context) error {
	if in.lines == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return in.stopped()
	}
	done, err := in.access.load(context.WithoutCancel(ctx), in.result.Queue, in.batch.Bytes())
	in.result.Imported += done.Sent
	in.result.Duplicates += done.Duplicates
	if err != nil {
		wrong, known := errors.AsType[*queue.LineError](err)
		if !known {
			in.result.Uncertain = in.lines
			return fmt.Errorf("import of %s: %w\n%s; nobody knows whether lines %d to %d were: look at the queue "+
				"before you go on with --from-line %d",
				in.file(), err, in.taken(), in.line, in.line+in.lines-1, in.line)
		}
		in.result.NextLine = in.line + wrong.Line - 1
		return in.wrong(wrong.Err)
	}
	in.line += in.lines
	in.result.NextLine = in.line
	in.lines = 0
	in.batch.Reset()
	in.shown.At(in.result.Imported + in.result.Duplicates)
	return nil
}

// wrong is the error of the line that comes next.
func (in *importing) wrong(err error) error {
	return fmt.Errorf("%s:%d: %w\n%s", in.file(), in.result.NextLine, err, in.again("put it right"))
}

func (in *importing) stopped() error {
	return fmt.Errorf("import of %s: it was interrupted\n%s", in.file(), in.again(""))
}

func (in *importing) file() string {
	if in.result.File == "-" {
		return "standard input"
	}
	return in.result.File
}

// again says how to go on, after what there is to do first.
func (in *importing) again(first string) string {
	if first != "" {
		first += " and "
	}
	if in.result.NextLine <= in.from {
		return in.taken() + "; " + first + "run the command again"
	}
	return fmt.Sprintf("%s; %sgo on with --from-line %d", in.taken(), first, in.result.NextLine)
}

// taken says which lines were taken.
func (in *importing) taken() string {
	if in.result.NextLine <= in.from {
		return "nothing was taken in"
	}
	if in.result.NextLine == in.from+1 {
		return fmt.Sprintf("line %d was taken in (%s)", in.from, in.result.Summary())
	}
	return fmt.Sprintf("lines %d to %d were taken in (%s)", in.from, in.result.NextLine-1, in.result.Summary())
}

// Summary says in words how many messages were imported.
func (r ImportResult) Summary() string {
	text := "imported " + render.Plural(r.Imported, "message") + " into " + r.Queue
	if r.Duplicates > 0 {
		text += fmt.Sprintf(", %d more had been sent already", r.Duplicates)
	}
	return text
}
