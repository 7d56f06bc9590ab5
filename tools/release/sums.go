package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sumsFile has a line for each other file: SHA-256 in hexadecimal, two spaces, the name. sha256sum -c reads it.
const sumsFile = "SHA256SUMS"

// clear makes the directory ready. It removes only files that an earlier run listed in its checksums, so that a wrong
// -out deletes nothing. An interrupted run lists nothing: then the user removes the directory.
func clear(dist string) error {
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dist, sumsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(sums)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if name == "" || name != filepath.Base(name) {
			return fmt.Errorf("%s: found the line %q; an earlier run wrote checksums and names without a directory",
				filepath.Join(dist, sumsFile), strings.TrimSpace(line))
		}
		if err := os.Remove(filepath.Join(dist, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(filepath.Join(dist, sumsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rest, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s holds %s, which no earlier run has listed; name another directory with -out, or remove "+
			"it", dist, rest[0].Name())
	}
	return nil
}

// writeSums writes the checksums of all files of the directory, sorted by name. It comes last: the file says that the
// release is complete.
func writeSums(dist string) error {
	files, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	var lines []string
	for _, file := range files {
		sum, err := sumOf(filepath.Join(dist, file.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sum, file.Name()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(dist, sumsFile), []byte(strings.Join(lines, "")), 0o644)
}

// sumOf returns the SHA-256 of a file.
func sumOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}
