package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Replace creates or replaces the file at path with the output of fill. However the process ends, the
// file is complete or unchanged. It is not synced, so a power cut may still lose it. A path that is no
// regular file, such as a terminal or a pipe, is written directly. An empty path does nothing.
func Replace(path string, fill func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	part := path
	if stat, err := os.Stat(path); err != nil || stat.Mode().IsRegular() { // not a terminal or pipe
		part = fmt.Sprintf("%s.%d.new", path, os.Getpid())
		defer os.Remove(part)
	}
	f, err := os.Create(part)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	out := bufio.NewWriter(f)
	if err := errors.Join(fill(out), out.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if part == path {
		return nil
	}
	return os.Rename(part, path)
}
