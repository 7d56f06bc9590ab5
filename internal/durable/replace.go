package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Replace makes or replaces the file at path with what fill writes: it is there whole or not at all, however the
// process ends. It is not synced, so that a power cut may still lose it. What is no regular file, as a terminal or a
// pipe, is written to as it is. An empty path does nothing.
func Replace(path string, fill func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	part := path
	if stat, err := os.Stat(path); err != nil || stat.Mode().IsRegular() { // and no terminal or pipe
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
