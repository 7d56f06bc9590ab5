package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"
)

// Checksums is the table of all checksums of the queue's files.
var Checksums = crc32.MakeTable(crc32.Castagnoli)

// ErrDamagedContent says that the content of a message is not what was sent.
var ErrDamagedContent = errors.New("the content of the message is damaged")

// Checksum is that of what a message is sent with. It is never 0, which stands for a record without one. Where a
// message came from changes when it is moved, and is not part of it.
func (r *Record) Checksum() uint32 {
	sum := crc32.Checksum(r.ID[:], Checksums)
	sum = sumText(sumText(sum, r.Group), r.Dedup)
	sum = crc32.Update(sum^uint32(len(r.Attributes)), Checksums, r.Attributes)
	return max(1, sumText(sum, r.Body))
}

// sumText goes on with a checksum. The length keeps texts apart that follow each other.
func sumText(sum uint32, text string) uint32 {
	// A conversion would copy each body, and the checksum only reads.
	return crc32.Update(sum^uint32(len(text)), Checksums, unsafe.Slice(unsafe.StringData(text), len(text)))
}

// Verify compares the content with its checksum.
func (r *Record) Verify() error {
	if r.Sum != 0 && r.Sum != r.Checksum() {
		return fmt.Errorf("%w: it does not match the checksum made when it was sent", ErrDamagedContent)
	}
	return nil
}

// Checksum is that of a row as the tables keep it.
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
