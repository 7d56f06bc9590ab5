package sqlitefile

import (
	"encoding/binary"
	"maps"
)

// logIndex knows which pages a write-ahead log holds.
type logIndex struct {
	pages  map[uint32]logPage // the newest content of each page
	commit uint32             // pages of the file after the last transaction; 0 without any
}

// logPage is a page in a log.
type logPage struct {
	content []byte
	whole   bool
}

// A write-ahead log is a header of a mark, two salts and a checksum, and frames: a page's number, the size of the file
// if a transaction ends with it, the salts, a checksum that goes on from that of the frame before, and the page.
const (
	logHead        = 32
	logFrameHead   = 24
	logMagic       = 0x377f0682 // the lowest bit says that checksums are over big-endian words
	logFrameBytes  = logFrameHead + PageBytes
	logHeadSums    = 24
	logFrameCommit = 4
)

// indexLog reads a log. With all it goes on behind a damaged frame, since each frame's checksum only needs the one
// before, and also takes frames that no end of a transaction follows.
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

// guessSalts returns what the header says from the first frame that fits the one before it.
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

func wordOrder(magic uint32) binary.ByteOrder {
	if magic&1 != 0 {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// checksum goes on with the two sums over pairs of words.
func checksum(words binary.ByteOrder, sums [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sums[0] += words.Uint32(b) + sums[1]
		sums[1] += words.Uint32(b[4:]) + sums[0]
	}
	return sums
}
