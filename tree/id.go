package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ID names a node for ever. The zero ID names no node; as a claimer it stands for the operator.
type ID [16]byte

// The first hashed byte separates the kinds of names.
const (
	kindNode       = 'n'
	kindEntity     = 'e'
	kindCompletion = 'c'
)

// derive hashes names with their lengths, so that no two lists of names hash the same bytes. 16 bytes of SHA-256 keep
// the chance that any two of 10^9 nodes share an ID below 10^-20.
func derive(kind byte, names ...string) (id ID) {
	b := make([]byte, 0, 128)
	b = append(b, kind)
	for _, n := range names {
		b = append(b, byte(len(n)>>24), byte(len(n)>>16), byte(len(n)>>8), byte(len(n)))
		b = append(b, n...)
	}
	sum := sha256.Sum256(b)
	copy(id[:], sum[:])
	return id
}

// NodeID returns the ID of the child of a parent with the given key. The root node has the zero parent. With visited
// true the ID does not depend on the parent: every node that names the key names the same child.
func NodeID(root string, parent ID, key string, visited bool) ID {
	if visited {
		return derive(kindEntity, root, key)
	}
	return derive(kindNode, root, string(parent[:]), key)
}

// CompletionID names the end of one round of a root, so that a receiver of repeated announcements can recognise them.
func CompletionID(root string, round int) string {
	id := derive(kindCompletion, root, fmt.Sprint(round))
	return id.String()
}

// String returns 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID parses the result of [ID.String].
func ParseID(text string) (id ID, err error) {
	if len(text) != 2*len(id) {
		return id, fmt.Errorf("read a node's id: found %.40q, allowed are %d hexadecimal digits", text, 2*len(id))
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return ID{}, fmt.Errorf("read a node's id: found %.40q, allowed are %d hexadecimal digits", text, 2*len(id))
	}
	return id, nil
}

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}
