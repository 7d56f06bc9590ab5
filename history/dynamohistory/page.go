package dynamohistory

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history/internal/rules"
)

// This file turns records into the bytes of a page and back. The form is binary, because the body of a record must come
// back byte for byte, which JSON within JSON does not.

const (
	// formPlain is the first byte of a page, so that a later form can be told apart.
	formPlain = 1
	// maxRaw bounds a page before compression, in bytes, and so the memory that a reader needs for one.
	maxRaw = 64 << 20
	// maxElement bounds the compressed bytes in one element. DynamoDB allows 400 KB with all attributes.
	maxElement = 320 << 10
)

// errPage means that the bytes of a page are not what this package wrote.
var errPage = errors.New("found a page that this program cannot read; a newer one may have written it")

// encode returns the compressed page of records. Shared content that several of them have is in it once.
func encode(records []muster.Record) ([]byte, error) {
	raw := []byte{formPlain}
	shared := map[string]int{"": 0}
	var contents []string
	for _, r := range records {
		if _, known := shared[string(r.Shared)]; !known {
			contents = append(contents, string(r.Shared))
			shared[string(r.Shared)] = len(contents)
		}
	}
	raw = binary.AppendUvarint(raw, uint64(len(contents)))
	for _, c := range contents {
		raw = appendBytes(raw, []byte(c))
	}
	raw = binary.AppendUvarint(raw, uint64(len(records)))
	for _, r := range records {
		raw = binary.AppendVarint(raw, r.Position.Seq)
		raw = binary.AppendVarint(raw, r.Position.Epoch)
		raw = binary.AppendVarint(raw, r.At.UnixNano())
		raw = appendBytes(raw, []byte(r.Kind))
		raw = appendBytes(raw, r.Body)
		raw = binary.AppendVarint(raw, int64(shared[string(r.Shared)]))
		if len(raw) > maxRaw {
			return nil, fmt.Errorf("%w: found more than %d MiB in one append; append fewer records at once",
				rules.ErrFull, maxRaw>>20)
		}
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err == nil {
		if _, err = w.Write(raw); err == nil {
			err = w.Close()
		}
	}
	return packed.Bytes(), err
}

func appendBytes(to, b []byte) []byte { return append(binary.AppendUvarint(to, uint64(len(b))), b...) }

// decode returns the records of a page. Others can write to the table, so every length is checked.
func decode(packed []byte) ([]muster.Record, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxRaw+1))
	if err != nil || len(raw) > maxRaw || len(raw) == 0 || raw[0] != formPlain {
		return nil, errors.Join(errPage, err)
	}
	s := scanner{rest: raw[1:]}
	contents := [][]byte{nil}
	for range s.count() {
		contents = append(contents, s.bytes())
	}
	var records []muster.Record
	for range s.count() {
		r := muster.Record{Position: muster.Position{Seq: s.number(), Epoch: s.number()}, At: rules.Instant(s.number())}
		r.Kind, r.Body = muster.RecordKind(s.bytes()), s.bytes()
		i := s.number()
		if s.failed || i < 0 || i >= int64(len(contents)) {
			return nil, errPage
		}
		r.Shared = contents[i]
		records = append(records, r)
	}
	if s.failed || len(s.rest) > 0 {
		return nil, errPage
	}
	return records, nil
}

// scanner reads the parts of a page. After a failure it returns zeros.
type scanner struct {
	rest   []byte
	failed bool
}

// count reads a number of things, each of which takes at least a byte of what is left.
func (s *scanner) count() int {
	n, size := binary.Uvarint(s.rest)
	if size <= 0 || n > math.MaxInt32 || int(n) > len(s.rest) {
		s.failed = true
		return 0
	}
	s.rest = s.rest[size:]
	return int(n)
}

func (s *scanner) number() int64 {
	n, size := binary.Varint(s.rest)
	if size <= 0 {
		s.failed = true
		return 0
	}
	s.rest = s.rest[size:]
	return n
}

// bytes reads a length and as many bytes; none are nil, as for a record of the other histories.
func (s *scanner) bytes() []byte {
	n := s.count()
	if s.failed || n == 0 || n > len(s.rest) {
		s.failed = s.failed || n > len(s.rest)
		return nil
	}
	b := s.rest[:n:n]
	s.rest = s.rest[n:]
	return b
}
