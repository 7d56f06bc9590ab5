package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// opLog is a file of operations that are not yet in the tables. A commit is one frame, written and synced before it is
// acknowledged: that takes a fraction of the time of a transaction, and most messages are deleted before they would ever
// reach a table. A transaction that takes all of them over makes the log void by counting its generation up, and the file
// is written again from its beginning.
type opLog struct {
	place logPlace
	size  int64 // bytes of the file; 0 if none is to be made
	after int   // transactions before a log is worth its file
	seen  int   // transactions without one so far

	active     bool // the tables say that there is a log
	file       logFile
	generation uint64
	number     uint32 // of the next frame
	at         int64  // where it goes
	buffer     []byte
}

// logPlace is where a log is kept.
type logPlace interface {
	// Create makes a file of size zeros that is there, with its room, after a power cut; it replaces one that is there.
	Create(size int64) (logFile, error)
	// Read returns the content of the file, or an error that matches fs.ErrNotExist.
	Read() ([]byte, error)
	// Remove deletes the file. That it is gone need not be durable.
	Remove() error
}

// logFile is a log that is written.
type logFile interface {
	WriteAt(b []byte, at int64) (int, error)
	// Sync brings what was written to the disk.
	Sync() error
	Close() error
}

const (
	// maxLogBytes is the size of a log, and with it a bound on the memory of what is only there.
	maxLogBytes = 4 << 20
	// leastLogBytes is the smallest log worth having.
	leastLogBytes = 64 << 10
	// logShare is how many times the log must fit into the room kept for deletes: taking it over needs room for its
	// messages in SQLite's own log and in the tables, where one may take up to twice its size.
	logShare = 6
	// maxPending bounds the rows that are changed when the log is taken over, and so the room that needs.
	maxPending = 2048
	// logAfter is how many transactions are made without a log, so that a program that changes little makes no file.
	logAfter = 16
)

// A frame is a mark, a checksum over all that follows it, the generation, the number and the length of the operations,
// and these. It begins at a multiple of sectorBytes, so that writing it touches nothing that was synced before.
const (
	frameMark   = "MQL1"
	frameHead   = len(frameMark) + 4 + 8 + 4 + 4
	sectorBytes = 512
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

// append writes ops as one frame and syncs it. fits is false, and nothing is written, if they belong into the tables.
func (l *opLog) append(ops []op) (fits bool, err error) {
	room := l.size - l.at
	b := append(l.buffer[:0], frameMark...)
	b = binary.LittleEndian.AppendUint32(b, 0) // the checksum
	b = binary.LittleEndian.AppendUint64(b, l.generation)
	b = binary.LittleEndian.AppendUint32(b, l.number)
	b = binary.LittleEndian.AppendUint32(b, 0) // the length
	for i := range ops {
		if ops[i].kind == opInsert && ops[i].record.size() > room-int64(len(b)) {
			return false, nil
		}
		var ok bool
		if b, ok = appendOp(b, &ops[i]); !ok || int64(len(b)) > room {
			return false, nil
		}
	}
	binary.LittleEndian.PutUint32(b[frameHead-4:], uint32(len(b)-frameHead))
	binary.LittleEndian.PutUint32(b[len(frameMark):], crc32.Checksum(b[len(frameMark)+4:], checksums))
	l.buffer = b
	if _, err = l.file.WriteAt(b, l.at); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return true, fmt.Errorf("write the log of the queue file: %w", err)
	}
	l.number++
	l.at += sectors(len(b))
	return true, nil
}

// sectors is n, rounded up to whole sectors.
func sectors(n int) int64 { return (int64(n) + sectorBytes - 1) / sectorBytes * sectorBytes }

// restart goes back to the beginning: what was written is void, since the tables name another generation.
func (l *opLog) restart(generation uint64) {
	l.active, l.generation, l.number, l.at = true, generation, 0, 0
}

// end gives the file up. Nothing in it counts any more, so that it does not matter whether it can be removed.
func (l *opLog) end() {
	l.active, l.seen = false, 0
	if l.file != nil {
		l.file.Close()
	}
	l.file = nil
	l.place.Remove()
}

// errDamagedLog says that a log lost something that was acknowledged.
var errDamagedLog = errors.New("the log of the queue file is damaged")

// readLog returns the operations of all frames of a generation. The last frame may be half written: then nobody was told
// that it is there. Any other must be whole.
func readLog(content []byte, generation uint64) ([]op, error) {
	var ops []op
	at, number := int64(0), uint32(0)
	for {
		payload, n := frameAt(content, at, generation)
		if payload == nil || n != number {
			break
		}
		var err error
		if ops, err = readOps(payload, ops); err != nil {
			return nil, fmt.Errorf("%w: frame %d at byte %d: %w", errDamagedLog, number, at, err)
		}
		number++
		at += sectors(frameHead + len(payload))
	}
	for later := at; later < int64(len(content)); later += sectorBytes {
		if payload, n := frameAt(content, later, generation); payload != nil && n > number {
			return nil, fmt.Errorf("%w: frame %d, which begins at byte %d, cannot be read, but frame %d can", errDamagedLog, number, at, n)
		}
	}
	return ops, nil
}

// frameAt returns operations and number of the frame that begins at a byte; nil if there is no whole one of the generation.
func frameAt(content []byte, at int64, generation uint64) (payload []byte, number uint32) {
	if at+int64(frameHead) > int64(len(content)) {
		return nil, 0
	}
	b := content[at:]
	if string(b[:len(frameMark)]) != frameMark || binary.LittleEndian.Uint64(b[8:]) != generation {
		return nil, 0
	}
	length := int64(binary.LittleEndian.Uint32(b[20:]))
	if length > int64(len(b)-frameHead) {
		return nil, 0
	}
	b = b[:int64(frameHead)+length]
	if binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], checksums) {
		return nil, 0
	}
	return b[frameHead:], binary.LittleEndian.Uint32(b[16:])
}
