package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine bounds a line of a trace file, in bytes.
const maxLine = 64 << 10

// lines reads a file line by line, unpacks gzip, and knows where it is. A line is valid until the next one is read.
type lines struct {
	name   string
	number int64
	in     *bufio.Reader
	packed *gzip.Reader
	closer io.Closer
}

// newLines reads from r, which has the given name. What begins as gzip does is unpacked, whatever its name.
func newLines(name string, r io.Reader, closer io.Closer) (*lines, error) {
	l := &lines{name: name, in: bufio.NewReaderSize(r, maxLine), closer: closer}
	begin, err := l.in.Peek(6)
	if err != nil && err != io.EOF {
		return nil, l.whole(fmt.Errorf("read: %w", err))
	}
	if what := archive(begin); what != "" {
		return nil, l.whole(fmt.Errorf("found a %s archive, want text or gzip: unpack it first", what))
	}
	if bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) {
		if l.packed, err = gzip.NewReader(l.in); err != nil {
			return nil, l.whole(brokenGzip(err))
		}
		l.in = bufio.NewReaderSize(l.packed, maxLine)
		begin, err = l.in.Peek(3)
		if err != nil && err != io.EOF {
			return nil, l.whole(brokenGzip(err))
		}
	}
	if bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")) {
		l.in.Discard(3) // a byte order mark
	}
	return l, nil
}

// archive names the packing that a file begins with and that is not read here.
func archive(begin []byte) string {
	for _, a := range []struct{ magic, what string }{
		{"PK\x03\x04", "zip"}, {"BZh", "bzip2"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\xfd7zXZ", "xz"},
	} {
		if bytes.HasPrefix(begin, []byte(a.magic)) {
			return a.what
		}
	}
	return ""
}

func brokenGzip(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return fmt.Errorf("the gzip file is broken: %w; get it again", err)
}

// next returns the next line without its end, or io.EOF. Lines with nothing but spaces are passed over.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.in.ReadSlice('\n')
		if err != nil && (err != io.EOF || len(line) == 0) {
			return nil, l.failed(err)
		}
		l.number++
		if line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}); len(trim(line)) > 0 {
			return line, nil
		}
	}
}

func (l *lines) failed(err error) error {
	switch {
	case err == io.EOF:
		return err
	case err == bufio.ErrBufferFull:
		l.number++
		return l.fault(fmt.Errorf("found a line of more than %d bytes, which is the longest allowed; is this a text "+
			"file?", maxLine-1))
	case l.packed != nil:
		return l.fault(brokenGzip(err))
	}
	return l.fault(fmt.Errorf("read: %w", err))
}

// trim cuts spaces and tabs off both ends.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text) - 1; n >= 0 && (text[n] == ' ' || text[n] == '\t'); n-- {
		text = text[:n]
	}
	return text
}

// fault is a problem in the line that was read last.
func (l *lines) fault(problem error) error {
	return &Fault{File: l.name, Line: l.number, Problem: problem}
}

// whole is a problem of the file as such.
func (l *lines) whole(problem error) error { return &Fault{File: l.name, Problem: problem} }

// Close closes the file.
func (l *lines) Close() error {
	if l.closer == nil {
		return nil
	}
	return l.closer.Close()
}

// openFile opens the regular file at path.
func openFile(path string) (*os.File, os.FileInfo, error) {
	wrong := func(problem error) error { return &Fault{File: path, Problem: problem} }
	stat, err := os.Stat(path) // before it is opened: opening a pipe waits
	if err != nil {
		if pathError, ok := errors.AsType[*os.PathError](err); ok {
			err = pathError.Err
		}
		return nil, nil, wrong(fmt.Errorf("open the trace: %w", err))
	}
	if !stat.Mode().IsRegular() {
		return nil, nil, wrong(errors.New("open the trace: found no regular file; a trace is read more than once, so " +
			"save it to a file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, wrong(fmt.Errorf("open the trace: %w", err))
	}
	if stat, err = f.Stat(); err != nil {
		f.Close()
		return nil, nil, wrong(fmt.Errorf("open the trace: %w", err))
	}
	return f, stat, nil
}
