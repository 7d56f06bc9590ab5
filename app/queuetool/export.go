package queuetool

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

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
)

// ExportResult is the result of an export, as muster queue export -o json prints it.
type ExportResult struct {
	Queue string `json:"queue"`
	// File is - for standard output.
	File     string `json:"file"`
	Exported int    `json:"exported"`
}

// Export writes the messages of a queue as JSON lines to the file, or to out when the file is -. An existing file
// changes only once every line is on disk. It shows its progress on progress.
func (o *Queues) Export(ctx context.Context, name, file string, out, progress io.Writer) (ExportResult, error) {
	result := ExportResult{Queue: name, File: file}
	counted := &lineCounter{to: out, shown: terminal.NewProgress(progress, "exported", 0)}
	defer counted.shown.Done()
	if file == "-" {
		n, err := exportAll(ctx, o, name, counted)
		result.Exported = n
		return result, err
	}
	err := writeWhole(file, func(to io.Writer) (err error) {
		counted.to = to
		result.Exported, err = exportAll(ctx, o, name, counted)
		return err
	})
	return result, err
}

// exportAll exports a queue and checks that every line arrived.
func exportAll(ctx context.Context, o *Queues, name string, to *lineCounter) (int, error) {
	// The total is known only to the other side, and is there before the first line.
	n, err := o.export(ctx, name, to, func(total int) { to.shown.Total = total })
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("export %s: it was interrupted after %s", name, render.Plural(to.lines, "message"))
	case err != nil:
		return 0, fmt.Errorf("export %s: %w", name, err)
	// The other side says how many lines it wrote; a shorter file must not pass as a complete export.
	case n != to.lines:
		return 0, fmt.Errorf("export %s: %d lines arrived of %d; try again", name, to.lines, n)
	}
	return n, nil
}

// lineCounter counts the lines that are written, and shows the count. Each message is one line.
type lineCounter struct {
	to    io.Writer
	lines int
	shown *terminal.Progress
}

// Write implements [io.Writer].
func (c *lineCounter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.lines += bytes.Count(b[:n], []byte{'\n'})
	c.shown.At(c.lines)
	return n, err
}

// writeWhole creates the file at path from what fill writes, compressed when the name ends in .gz. An existing file
// changes only once everything is on disk. A device or a pipe is refused, because it cannot be replaced.
func writeWhole(path string, fill func(io.Writer) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // replace the target of the link, not the link
	}
	switch stat, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("export: %w", err)
	case !stat.Mode().IsRegular():
		return misuse.Errorf("write %s: it is no regular file; give the name of one, or - for standard output", path)
	}
	// mode 0600: messages may hold secrets
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*")
	if err != nil {
		if wrong, ok := errors.AsType[*fs.PathError](err); ok {
			err = wrong.Err // the name of the temporary file would only confuse
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
	// The lines are on disk before the name changes: after a crash there is the old file or the whole new one.
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	// From here on other programs see the new file.
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	// Without this a crash could bring the old name back.
	return durable.SyncDir(filepath.Dir(path))
}

// fillFile calls fill with f, or with a compressing writer in front of it. Closing that writer writes the end of the
// gzip stream, so its error counts.
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
