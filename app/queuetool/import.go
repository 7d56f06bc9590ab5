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

// ImportResult is the result of an import, as muster queue import -o json prints it, also after a failure.
type ImportResult struct {
	Queue string `json:"queue"`
	// File is - for standard input.
	File     string `json:"file"`
	Imported int    `json:"imported"`
	// Duplicates counts messages that a FIFO queue dropped, because they were sent within the last five minutes.
	Duplicates int `json:"duplicates"`
	// NextLine is the first line that was not imported: where to continue.
	NextLine int `json:"next_line"`
	// Uncertain is the number of lines, from NextLine on, that may or may not have been imported.
	Uncertain int    `json:"uncertain"`
	Error     string `json:"error,omitzero"`
}

const (
	// importLines and importBytes bound one request; a longer line is sent alone.
	importLines = 500
	importBytes = 1 << 20
)

// OpenLines opens a file of lines, decompressed when its name ends in .gz; the name - is stdin. The caller closes it
// with closeLines. A terminal as standard input is refused: the command would seem to hang.
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

// Import sends the messages of a file of JSON lines to a queue, starting at line from; 1 is the first. The result is
// valid after an error, too. It shows its progress on progress.
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

// importing is a running import. Its result is valid at any time. line and NextLine differ only inside a batch that
// failed.
type importing struct {
	access access
	result ImportResult
	from   int // the first line to import
	line   int // the first line of the batch
	batch  bytes.Buffer
	lines  int // the number of lines in the batch
	shown  *terminal.Progress
}

// run reads lines and sends them in batches. A batch ends at 500 lines or 1 MiB, whichever comes first; a single line
// may be longer.
func (in *importing) run(ctx context.Context, from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), queue.MaxImportLine)
	for lines.Scan() {
		if ctx.Err() != nil {
			return in.stopped()
		}
		// Skipped lines are counted and not parsed: they were imported before.
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
	// The lines before a broken one are sent already.
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it is longer than %d bytes, the longest line of a message", queue.MaxImportLine)
	}
	if err != nil {
		return in.wrong(err)
	}
	if in.line < in.from {
		return misuse.Errorf("--from-line: found %d, but %s has %d lines", in.from, in.file(), in.line-1)
	}
	return nil
}

// send imports the batch. It is not interrupted, so that it is known which lines were imported.
func (in *importing) send(ctx context.Context) error {
	if in.lines == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return in.stopped()
	}
	// An interrupt takes effect between two batches.
	done, err := in.access.load(context.WithoutCancel(ctx), in.result.Queue, in.batch.Bytes())
	in.result.Imported += done.Sent
	in.result.Duplicates += done.Duplicates
	if err != nil {
		wrong, known := errors.AsType[*queue.LineError](err)
		if !known {
			// The connection was lost: the batch is stored as a whole or not at all, but which is unknown.
			in.result.Uncertain = in.lines
			return fmt.Errorf("import of %s: %w\n%s; lines %d to %d may or may not have been: check the queue "+
				"before you continue with --from-line %d",
				in.file(), err, in.taken(), in.line, in.line+in.lines-1, in.line)
		}
		// The error counts lines from 1 within the batch.
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

// wrong is the error of line NextLine.
func (in *importing) wrong(err error) error {
	return fmt.Errorf("%s:%d: %w\n%s", in.file(), in.result.NextLine, err, in.again("correct it"))
}

// stopped is the error of an interrupted import. No batch is under way then, so it is known where to continue.
func (in *importing) stopped() error {
	return fmt.Errorf("import of %s: it was interrupted\n%s", in.file(), in.again(""))
}

// file names the input in errors.
func (in *importing) file() string {
	if in.result.File == "-" {
		return "standard input"
	}
	return in.result.File
}

// again says how to continue, and what to do first.
func (in *importing) again(first string) string {
	if first != "" {
		first += " and "
	}
	if in.result.NextLine <= in.from {
		return in.taken() + "; " + first + "run the command again"
	}
	return fmt.Sprintf("%s; %scontinue with --from-line %d", in.taken(), first, in.result.NextLine)
}

// taken says which lines were imported.
func (in *importing) taken() string {
	if in.result.NextLine <= in.from {
		return "nothing was imported"
	}
	if in.result.NextLine == in.from+1 {
		return fmt.Sprintf("line %d was imported (%s)", in.from, in.result.Summary())
	}
	return fmt.Sprintf("lines %d to %d were imported (%s)", in.from, in.result.NextLine-1, in.result.Summary())
}

// Summary says how many messages were imported.
func (r ImportResult) Summary() string {
	text := "imported " + render.Plural(r.Imported, "message") + " into " + r.Queue
	if r.Duplicates > 0 {
		text += fmt.Sprintf(", %d more had been sent already", r.Duplicates)
	}
	return text
}
