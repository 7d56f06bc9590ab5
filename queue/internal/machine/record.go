package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"
)

// Record is the content of a message. The state machine passes it to the store and reads only Group, Dedup and
// Source.
type Record struct {
	ID         [16]byte
	Sum        uint32 // Checksum of the record; 0 means none
	Group      string
	Dedup      string
	Source     string // the queue it was dead-lettered from
	Attributes []byte // encoded, see content.go of package queue
	Digest     [16]byte
	Body       string
}

// RecordOverhead is the approximate memory of a record besides its texts, in bytes.
const RecordOverhead = 160

// Size is the approximate memory of r, in bytes.
func (r *Record) Size() int64 {
	return RecordOverhead + int64(len(r.Body)+len(r.Attributes)+len(r.Group)+len(r.Dedup)+len(r.Source))
}

// Checksums is the CRC table of all checksums in the queue's files: Castagnoli, which common processors compute in
// hardware.
var Checksums = crc32.MakeTable(crc32.Castagnoli)

// ErrDamagedContent says that the content of a message differs from what was sent.
var ErrDamagedContent = errors.New("the content of the message is damaged")

// Checksum covers what a message is sent with. It is never 0, which means that a record has none. Source is not
// covered: it changes when the message is moved.
func (r *Record) Checksum() uint32 {
	sum := crc32.Checksum(r.ID[:], Checksums)
	sum = sumText(sumText(sum, r.Group), r.Dedup)
	sum = crc32.Update(sum^uint32(len(r.Attributes)), Checksums, r.Attributes)
	return max(1, sumText(sum, r.Body))
}

// sumText adds a text to a checksum. The length is mixed in so that ("ab", "c") and ("a", "bc") differ.
func sumText(sum uint32, text string) uint32 {
	// A conversion would copy each body, and the checksum only reads.
	return crc32.Update(sum^uint32(len(text)), Checksums, unsafe.Slice(unsafe.StringData(text), len(text)))
}

// Verify returns an error if the content does not match its checksum. A record without a checksum
// passes.
func (r *Record) Verify() error {
	if r.Sum != 0 && r.Sum != r.Checksum() {
		return fmt.Errorf("%w: it does not match the checksum made when it was sent", ErrDamagedContent)
	}
	return nil
}

// Checksum covers all numbers of a row. The order of the bytes is part of the file format.
func (r *Row) Checksum() uint32 {
	var b [8*6 + 3*4]byte
	for i, v := range []uint64{r.Seq, uint64(r.Sent), uint64(r.Visible), uint64(r.Received), uint64(r.First),
		uint64(r.Queue)} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	binary.LittleEndian.PutUint32(b[8*6:], r.Count)
	binary.LittleEndian.PutUint32(b[8*6+4:], r.Carried)
	return crc32.Checksum(b[:8*6+8], Checksums)
}
