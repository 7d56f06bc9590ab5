package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxLine bounds a child in JSON on a line of its own: one with the largest key and body, every byte escaped.
const MaxLine = 6*(MaxKey+MaxBody) + 100

// ReadChild reads a line that names a child, strictly: a JSON object of a key and perhaps a body, and nothing else. It
// reads none that is longer than [MaxLine].
func ReadChild(line []byte) (c Child, err error) {
	if len(line) > MaxLine {
		return c, fmt.Errorf("read a child: found a line of more than %d bytes, which is all that is allowed", MaxLine)
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
