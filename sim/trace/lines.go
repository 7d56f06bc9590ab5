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

// maxLine bounds a line of a trace file, in bytes. A longer line means that the file is no text.
const maxLine = 64 << 10

// lines reads a file line by line, decompresses gzip, and knows the present line for error texts. A line is valid until
// the next one is read.
type lines struct {
	// name is the path as it was given, and number that of the present line, from 1 on.
	name   string
	number int64
	// in reads text; packed is set when it is decompressed, and only changes the explanation of errors.
	in     *bufio.Reader
	packed *gzip.Reader
	closer io.Closer
}

// newLines reads from r, and calls the content name in error texts. Content that begins as gzip does is decompressed,
// whatever the file's name is.
func newLines(name string, r io.Reader, closer io.Closer) (*lines, error) {
	l := &lines{name: name, in: bufio.NewReaderSize(r, maxLine), closer: closer}
	// Six bytes are enough for the longest magic number.
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
	// Spreadsheets begin a file with a byte order mark, which would become a part of the first name.
	if bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")) {
		l.in.Discard(3) // a byte order mark
	}
	return l, nil
}

// archive names the kind of archive that a file begins with, of those that are not read here; "" for others.
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

// brokenGzip explains an error of the decompression.
func brokenGzip(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return fmt.Errorf("the gzip file is broken: %w; get it again", err)
}

// next returns the next line without its end, or io.EOF. It skips lines with nothing but spaces.
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

// failed explains an error of reading; it returns io.EOF as it is.
func (l *lines) failed(err error) error {
	switch {
	case err == io.EOF:
		return err
	// The line does not fit into the buffer; it has not been counted yet.
	case err == bufio.ErrBufferFull:
		l.number++
		return l.fault(fmt.Errorf("found a line of more than %d bytes, which is the longest allowed; is this a text "+
			"file?", maxLine-1))
	case l.packed != nil:
		return l.fault(brokenGzip(err))
	}
	return l.fault(fmt.Errorf("read: %w", err))
}

// trim removes spaces and tabs at both ends. It is bytes.TrimSpace for the two characters that can occur, and faster.
func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text) - 1; n >= 0 && (text[n] == ' ' || text[n] == '\t'); n-- {
		text = text[:n]
	}
	return text
}

// fault returns a problem of the present line.
func (l *lines) fault(problem error) error {
	return &Fault{File: l.name, Line: l.number, Problem: problem}
}

// whole returns a problem of the file as a whole.
func (l *lines) whole(problem error) error { return &Fault{File: l.name, Problem: problem} }

// Close closes the file.
func (l *lines) Close() error {
	if l.closer == nil {
		return nil
	}
	return l.closer.Close()
}

// openFile opens the file at path and returns its state, by which a later change is noticed. It must be a regular file:
// a pipe could not be read twice.
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
