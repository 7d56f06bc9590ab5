package sqlitefile

import (
	"encoding/binary"
	"maps"
)

// logIndex is the content of a write-ahead log.
type logIndex struct {
	pages  map[uint32]logPage // newest content by page
	commit uint32             // size of the file after the last transaction, in pages; 0 without one
}

// logPage is a page in a log. whole says that its checksum is right.
type logPage struct {
	content []byte
	whole   bool
}

// The layout of a write-ahead log (sqlite.org/fileformat2.html, section 4): a header with magic number,
// two salts and a checksum; then frames of page number, size of the file if the frame ends a
// transaction, the salts, a checksum that continues that of the frame before, and the page. Sizes and
// offsets are in bytes.
const (
	logHead        = 32
	logFrameHead   = 24
	logMagic       = 0x377f0682 // the lowest bit says that checksums are over big-endian words
	logFrameBytes  = logFrameHead + PageBytes
	logHeadSums    = 24
	logFrameCommit = 4
)

// indexLog reads a log. With all it continues after a damaged frame, because a checksum depends only on
// the one before, and takes frames whose transaction has no end.
func indexLog(log []byte, all bool) *logIndex {
	x := &logIndex{pages: map[uint32]logPage{}}
	if len(log) < logHead+logFrameBytes {
		return x
	}
	magic := binary.BigEndian.Uint32(log)
	words := wordOrder(magic)
	sums := [2]uint32{binary.BigEndian.Uint32(log[logHeadSums:]), binary.BigEndian.Uint32(log[logHeadSums+4:])}
	salts := string(log[16:24])
	head := magic&^1 == logMagic && checksum(words, [2]uint32{}, log[:logHeadSums]) == sums
	if !head && !all {
		return x
	}
	if !head {
		salts, words = guessSalts(log)
	}
	pending := map[uint32]logPage{}
	commit := func() {
		maps.Copy(x.pages, pending)
		clear(pending)
	}
	for n := 0; ; n++ {
		at := logHead + n*logFrameBytes
		if at+logFrameBytes > len(log) {
			break
		}
		f := log[at : at+logFrameBytes]
		stored := [2]uint32{binary.BigEndian.Uint32(f[16:]), binary.BigEndian.Uint32(f[20:])}
		whole := string(f[8:16]) == salts && checksum(words, checksum(words, sums, f[:8]), f[logFrameHead:]) == stored
		sums = stored
		if !whole {
			if !all {
				break
			}
			if string(f[8:16]) != salts {
				continue
			}
		}
		pending[binary.BigEndian.Uint32(f)] = logPage{f[logFrameHead:], whole}
		if size := binary.BigEndian.Uint32(f[logFrameCommit:]); whole && size != 0 {
			commit()
			x.commit = size
		}
	}
	if all {
		commit()
	}
	return x
}

// guessSalts recovers the data of a damaged header from the first frame that fits the one before it.
func guessSalts(log []byte) (salts string, words binary.ByteOrder) {
	for before, at := logHead, logHead+logFrameBytes; at+logFrameBytes <= len(log); before, at = at, at+logFrameBytes {
		f := log[at : at+logFrameBytes]
		sums := [2]uint32{binary.BigEndian.Uint32(log[before+16:]), binary.BigEndian.Uint32(log[before+20:])}
		stored := [2]uint32{binary.BigEndian.Uint32(f[16:]), binary.BigEndian.Uint32(f[20:])}
		for _, words := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if checksum(words, checksum(words, sums, f[:8]), f[logFrameHead:]) == stored {
				return string(f[8:16]), words
			}
		}
	}
	return string(log[logHead+8 : logHead+16]), binary.LittleEndian
}

// wordOrder returns the byte order of the checksums.
func wordOrder(magic uint32) binary.ByteOrder {
	if magic&1 != 0 {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// checksum continues the two sums over pairs of words.
func checksum(words binary.ByteOrder, sums [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sums[0] += words.Uint32(b) + sums[1]
		sums[1] += words.Uint32(b[4:]) + sums[0]
	}
	return sums
}
