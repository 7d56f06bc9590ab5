package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"
)

// errDamagedContent says that the content of a message is not what was sent.
var errDamagedContent = errors.New("the content of the message is damaged")

// identify gives a message that is sent its id and the checksum of what it is sent with.
func (r *record) identify() {
	r.id = newID()
	r.sum = r.checksum()
}

// checksum is that of what a message is sent with. It is never 0, which stands for a record without one. Where a message came
// from changes when it is moved, and is not part of it.
func (r *record) checksum() uint32 {
	sum := crc32.Checksum(r.id[:], checksums)
	sum = sumText(sumText(sum, r.group), r.dedup)
	sum = crc32.Update(sum^uint32(len(r.attributes)), checksums, r.attributes)
	return max(1, sumText(sum, r.body))
}

// sumText goes on with a checksum. The length keeps texts apart that follow each other.
func sumText(sum uint32, text string) uint32 {
	// A conversion would copy each body, and the checksum only reads.
	return crc32.Update(sum^uint32(len(text)), checksums, unsafe.Slice(unsafe.StringData(text), len(text)))
}

// verify compares the content with its checksum.
func (r *record) verify() error {
	if r.sum != 0 && r.sum != r.checksum() {
		return fmt.Errorf("%w: it does not match the checksum made when it was sent", errDamagedContent)
	}
	return nil
}

// checksum is that of a row as the tables keep it.
func (r *row) checksum() uint32 {
	var b [8*6 + 3*4]byte
	for i, v := range []uint64{r.seq, uint64(r.sent), uint64(r.visible), uint64(r.received), uint64(r.first), uint64(r.queue)} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	binary.LittleEndian.PutUint32(b[8*6:], r.count)
	binary.LittleEndian.PutUint32(b[8*6+4:], r.carried)
	return crc32.Checksum(b[:8*6+8], checksums)
}
