package main

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

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/queue"
)

// importResult is what muster queue import -o json prints, also when it fails.
type importResult struct {
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

func newQueueImport(g *global) *cobra.Command {
	from := 1
	cmd := &cobra.Command{
		Use: "import NAME [FILE|-]", Short: "Send the messages of a file of JSON lines to a queue", Args: cobra.RangeArgs(1, 2),
		Long: `Import sends what muster queue export wrote, or lines made by hand: each is a JSON object with a body, and on a
FIFO queue a group_id. Messages get new ids and times. Lines are taken in order, up to 500 at a time, all of
them or none; import ends at the first line that is wrong, and says with which --from-line to go on. A FILE
that ends in .gz is decompressed. It goes through the running muster up; when none runs, into the data
directory itself.`,
		Example:           "  muster queue import thumbnails dead.jsonl.gz\n  muster queue import thumbnails dead.jsonl --from-line 1201",
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := g.ownQueueName(args[0])
			if err != nil {
				return err
			}
			if from < 1 {
				return usage(fmt.Errorf("--from-line: found %d, allowed is 1 or more", from))
			}
			in := &importing{result: importResult{Queue: name, File: "-", NextLine: 1}, from: from, line: 1}
			if len(args) == 2 {
				in.result.File = args[1]
			}
			lines, closeLines, err := openLines(in.result.File, cmd.InOrStdin())
			if err != nil {
				return usage(err)
			}
			defer closeLines()
			err = g.withQueue(cmd.Context(), name, func(o *openedQueues) error {
				in.access, in.shown = o, newProgress(cmd.ErrOrStderr(), "imported", 0)
				defer in.shown.done()
				err := in.run(cmd.Context(), lines)
				if err != nil {
					in.result.Error = err.Error()
				}
				if g.json() {
					return errors.Join(err, printJSON(cmd.OutOrStdout(), in.result))
				}
				return err
			})
			if err != nil || g.json() {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), in.summary())
			return err
		},
	}
	cmd.Flags().IntVar(&from, "from-line", 1, "skip the lines before this one")
	return cmd
}

// openLines opens the file, or standard input.
func openLines(name string, stdin io.Reader) (lines io.Reader, closeLines func() error, err error) {
	if name == "-" {
		if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return nil, nil, errors.New("import: found a terminal as standard input; name a file, or pipe the lines into it")
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

const (
	// importLines and importBytes bound what is sent at a time; a longer line goes alone.
	importLines = 500
	importBytes = 1 << 20
)

// importing is an import under way. Its result is right at any time.
type importing struct {
	access queueAccess
	result importResult
	from   int // the first line that is wanted
	line   int // the first line of the batch
	batch  bytes.Buffer
	lines  int // of the batch
	shown  *progress
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
		return usage(fmt.Errorf("--from-line: found %d, but %s has %d lines", in.from, in.file(), in.line-1))
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
			return fmt.Errorf("import of %s: %w\n%s; nobody knows whether lines %d to %d were: look at the queue before you go on with --from-line %d",
				in.file(), err, in.taken(), in.line, in.line+in.lines-1, in.line)
		}
		in.result.NextLine = in.line + wrong.Line - 1
		return in.wrong(wrong.Err)
	}
	in.line += in.lines
	in.result.NextLine = in.line
	in.lines = 0
	in.batch.Reset()
	in.shown.at(in.result.Imported + in.result.Duplicates)
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
		return fmt.Sprintf("line %d was taken in (%s)", in.from, in.summary())
	}
	return fmt.Sprintf("lines %d to %d were taken in (%s)", in.from, in.result.NextLine-1, in.summary())
}

func (in *importing) summary() string {
	text := "imported " + muster.Plural(in.result.Imported, "message") + " into " + in.result.Queue
	if n := in.result.Duplicates; n > 0 {
		text += fmt.Sprintf(", %d more had been sent already", n)
	}
	return text
}
