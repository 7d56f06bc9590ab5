package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/internal/durable"
)

// Write writes t to path as CSV, compressed if path ends in .gz, and returns the number of messages, children included.
// [Open] reads the same messages back, and the same trace gives the same bytes. The file appears only when it is
// complete and on the disk, and then replaces one of that name. each, unless nil, is called after every 10,000 messages
// or so with the number written so far.
func Write(t Trace, path string, each func(messages int64)) (int64, error) {
	if base := strings.TrimSuffix(path, ".gz"); !strings.HasSuffix(base, ".csv") {
		return 0, fmt.Errorf("write the trace to %s: found a name that ends in %q, want .csv or .csv.gz", path,
			filepath.Ext(path))
	}
	// The header comes first in the file, so the columns must be known before anything is written.
	columns, err := used(t)
	if err != nil {
		return 0, fmt.Errorf("write the trace to %s: %w", path, err)
	}
	// A crash must not leave half a trace under the final name.
	f, err := temporary(path)
	if err != nil {
		return 0, fmt.Errorf("write the trace to %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // there is nothing to remove after the renaming
	w := &csvWriter{columns: columns, each: each}
	err = w.file(t, f, strings.HasSuffix(path, ".gz"))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return 0, fmt.Errorf("write the trace to %s: %w", path, err)
	}
	return w.order.count, nil
}

// temporary creates a new temporary file in the directory of path, so that renaming it to path is atomic. It has the
// permissions that the user gives to new files.
func temporary(path string) (*os.File, error) {
	for n := 0; ; n++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.new-%d-%d", filepath.Base(path), os.Getpid(), n))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || n == 100 {
			return f, err
		}
	}
}

// columns tells which optional columns a trace needs.
type columns struct{ class, group, depth bool }

// used reads the trace until every optional column is needed, or to its end.
func used(t Trace) (columns, error) {
	var c columns
	err := t.Each(func(m Message) bool {
		c.add(m)
		return !(c.class && c.group && c.depth)
	})
	return c, err
}

// add notes the columns that a message and its children need.
func (c *columns) add(m Message) {
	c.class = c.class || m.Class != ""
	c.group = c.group || m.Group != ""
	c.depth = c.depth || len(m.Children) > 0
	for _, child := range m.Children {
		c.add(child)
	}
}

// csvWriter writes messages as lines, and checks them as a reader would.
type csvWriter struct {
	columns
	// out collects lines before they are compressed or written. An error of it stays, and the next write returns it.
	out *bufio.Writer
	// order checks the messages and counts them.
	order Order
	// line has the lines of the present root and its children; its memory is used again.
	line []byte
	each func(int64)
}

// file writes the trace to f and waits until it is on the disk.
func (w *csvWriter) file(t Trace, f *os.File, pack bool) error {
	var packed *gzip.Writer
	to := io.Writer(f)
	if pack {
		packed = gzip.NewWriter(f)
		to = packed
	}
	w.out = bufio.NewWriterSize(to, 64<<10)
	if err := w.all(t); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	if packed != nil {
		// Close writes the end of the gzip stream, without which the file would be broken.
		if err := packed.Close(); err != nil {
			return err
		}
	}
	// The content must be on the disk before the file gets its name.
	return f.Sync()
}

// all writes the header and all messages.
func (w *csvWriter) all(t Trace) error {
	w.header()
	var failed error
	told := int64(0)
	err := t.Each(func(m Message) bool {
		// A trace that is made in Go has not been checked by a reader.
		if err := w.order.Check(m); err != nil {
			failed = fmt.Errorf("message %d: %w", w.order.count+1, err)
			return false
		}
		w.line = w.append(w.line[:0], m, 0)
		_, failed = w.out.Write(w.line)
		if w.each != nil && w.order.count-told >= 10_000 {
			told = w.order.count
			w.each(told)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err == nil && w.order.count == 0 {
		err = ErrEmpty
	}
	return err
}

// header writes the names of the columns that are used.
func (w *csvWriter) header() {
	w.line = append(w.line[:0], columnArrival+","+columnService...)
	for _, c := range []struct {
		used bool
		name string
	}{{w.class, columnClass}, {w.group, columnGroup}, {w.depth, columnDepth}} {
		if c.used {
			w.line = append(append(w.line, ','), c.name...)
		}
	}
	w.out.Write(append(w.line, '\n')) // an error comes back with the next write
}

// append appends the lines of m and its children, a parent before its children.
func (w *csvWriter) append(to []byte, m Message, depth int) []byte {
	to = appendSeconds(to, m.Arrival)
	to = appendSeconds(append(to, ','), m.Service)
	if w.class {
		to = appendText(append(to, ','), m.Class)
	}
	if w.group {
		to = appendText(append(to, ','), m.Group)
	}
	if w.depth {
		to = strconv.AppendInt(append(to, ','), int64(depth), 10)
	}
	to = append(to, '\n')
	for _, c := range m.Children {
		to = w.append(to, c, depth+1)
	}
	return to
}
