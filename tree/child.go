package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxLine is the greatest length of a line with a child in JSON, in bytes: the largest key and body with every byte
// escaped.
const MaxLine = 6*(MaxKey+MaxBody) + 100

// ReadChild parses a line that names a child: a JSON object with a key and an optional body, and nothing else. It is
// strict, because a program that prints its log to standard output must fail at the first line.
func ReadChild(line []byte) (c Child, err error) {
	if len(line) > MaxLine {
		return c, fmt.Errorf("read a child: found a line of more than %d bytes, the most that is allowed", MaxLine)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err = d.Decode(&c); err == nil {
		if len(bytes.TrimSpace(line[d.InputOffset():])) > 0 {
			return c, errors.New(`read a child: found something after the object, allowed is one like {"key":"a","body":"b"} a line`)
		}
		return c, nil
	}
	return c, fmt.Errorf(`read a child: %w; found %.60q, allowed is an object like {"key":"a","body":"b"} a line; print everything else to standard error`, err, line)
}
