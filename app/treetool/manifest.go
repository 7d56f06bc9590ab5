package treetool

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/muster-scale/muster/tree"
)

// Manifest is a file of children, one JSON object per line. It is read while the tree is submitted, so it may be larger
// than memory.
type Manifest struct {
	path  string
	file  io.Closer // nil: nothing to close
	lines *bufio.Scanner
	line  int
}

// OpenManifest opens the file at path. - is stdin, and an empty path is an empty list.
func OpenManifest(path string, stdin io.Reader) (*Manifest, error) {
	m := &Manifest{path: path}
	var from io.Reader = bytes.NewReader(nil)
	switch path {
	case "":
	case "-":
		from = stdin
	default:
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--manifest: %w", err)
		}
		from, m.file = file, file
	}
	m.lines = bufio.NewScanner(from)
	// The longest line that a tree accepts; the scanner's default is shorter.
	m.lines.Buffer(nil, tree.MaxLine)
	return m, nil
}

// Next returns the next child, and io.EOF after the last. Empty lines are skipped but counted, so that an error names
// the line that an editor shows.
func (m *Manifest) Next() (tree.Child, error) {
	for m.lines.Scan() {
		m.line++
		if line := bytes.TrimSpace(m.lines.Bytes()); len(line) > 0 {
			c, err := tree.ReadChild(line)
			if err == nil {
				err = c.Check()
			}
			if err != nil {
				err = fmt.Errorf("--manifest: line %d of %s: %w", m.line, m.path, err)
			}
			return c, err
		}
	}
	if err := m.lines.Err(); err != nil {
		return tree.Child{}, fmt.Errorf("--manifest: line %d of %s: %w", m.line+1, m.path, err)
	}
	return tree.Child{}, io.EOF
}

// Close closes the file.
func (m *Manifest) Close() {
	if m.file != nil {
		m.file.Close()
	}
}
