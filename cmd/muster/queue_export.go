package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/durable"
)

// exportResult is what muster queue export -o json prints.
type exportResult struct {
	Queue string `json:"queue"`
	// File is - for standard output.
	File     string `json:"file"`
	Exported int    `json:"exported"`
}

func newQueueExport(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME [FILE|-]", Short: "Write the messages of a queue to a file, as JSON lines", Args: cobra.RangeArgs(1, 2),
		Long: `Export writes every message as one JSON object a line, in the order in which they were sent, also those in
flight and delayed. The queue is not changed. A FILE that ends in .gz is compressed; it appears when it is
complete, and not before. Without FILE the lines go to standard output. It asks the running muster up; when
none runs, it reads the data directory itself.`,
		Example:           "  muster queue export thumbnails-dead dead.jsonl.gz\n  muster queue export thumbnails | jq -r .body",
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := g.ownQueueName(args[0])
			if err != nil {
				return err
			}
			result := exportResult{Queue: name, File: "-"}
			if len(args) == 2 {
				result.File = args[1]
			}
			said := cmd.OutOrStdout()
			if result.File == "-" {
				said = cmd.ErrOrStderr()
			}
			err = g.withQueue(cmd.Context(), name, func(o *openedQueues) (err error) {
				counted := &lineCounter{shown: newProgress(cmd.ErrOrStderr(), "exported", 0)}
				defer counted.shown.done()
				if result.File == "-" {
					counted.to = cmd.OutOrStdout()
					result.Exported, err = exportAll(cmd.Context(), o, name, counted)
					return err
				}
				return writeWhole(result.File, func(to io.Writer) error {
					counted.to = to
					result.Exported, err = exportAll(cmd.Context(), o, name, counted)
					return err
				})
			})
			if err != nil {
				return err
			}
			if g.json() {
				return printJSON(said, result)
			}
			_, err = fmt.Fprintf(said, "exported %s of %s\n", muster.Plural(result.Exported, "message"), name)
			return err
		},
	}
}

// exportAll exports a queue and makes sure that every line arrived.
func exportAll(ctx context.Context, o *openedQueues, name string, to *lineCounter) (int, error) {
	n, err := o.export(ctx, name, to, func(total int) { to.shown.total = total })
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("export %s: it was interrupted after %s", name, muster.Plural(to.lines, "message"))
	case err != nil:
		return 0, fmt.Errorf("export %s: %w", name, err)
	case n != to.lines:
		return 0, fmt.Errorf("export %s: %d lines arrived of %d; try again", name, to.lines, n)
	}
	return n, nil
}

// lineCounter counts the lines that pass, and shows the count.
type lineCounter struct {
	to    io.Writer
	lines int
	shown *progress
}

// Write implements [io.Writer].
func (c *lineCounter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.lines += bytes.Count(b[:n], []byte{'\n'})
	c.shown.at(c.lines)
	return n, err
}

// writeWhole makes the file at path with what fill writes, compressed when the name ends in .gz. The file, or the one that
// it replaces, changes only once everything is on disk.
func writeWhole(path string, fill func(io.Writer) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the file that a link names is replaced, not the link
	}
	switch stat, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("export: %w", err)
	case !stat.Mode().IsRegular():
		return usage(fmt.Errorf("write %s: it is no regular file; give the name of one, or - for standard output", path))
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*") // mode 0600: messages may hold secrets
	if err != nil {
		if wrong, ok := errors.AsType[*fs.PathError](err); ok {
			err = wrong.Err // the temporary file's name says nothing to anybody
		}
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := fillFile(f, strings.HasSuffix(path, ".gz"), fill); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return durable.SyncDir(filepath.Dir(path))
}

func fillFile(f io.Writer, compressed bool, fill func(io.Writer) error) error {
	if !compressed {
		return fill(f)
	}
	z := gzip.NewWriter(f)
	if err := fill(z); err != nil {
		return err
	}
	return z.Close()
}
