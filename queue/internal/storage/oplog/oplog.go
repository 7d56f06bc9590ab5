// Package oplog is the log in front of the tables of a queue file. A commit appends its operations to
// the log as one frame and syncs it, which is much faster than a transaction.
//
//   - [Log] is the log being written: [Log.Append] adds a frame, [Log.Restart] starts again from the
//     beginning after a transaction has moved all operations to the tables.
//   - [Read] returns the operations of a log after a crash, and decides which frames count.
//   - [Pending] is the sum of the operations in a log: what the next transaction must change.
//   - [Place] and [File] are where a log is kept, so that tests can keep it on a simulated disk that
//     loses its power.
//
// The layout: frames that begin at sectors and follow one another without gaps. Each has the number of
// the transaction it follows (its generation), its own number and a checksum that is seeded with the
// identity of the queue file. So frames of an earlier generation, or of another file, never count. An
// empty frame follows the last one.
//
// The package knows neither tables nor directories. Package storage decides when a log starts and when
// its operations move to the tables. docs/decisions/0008 has the reasons and measurements.
package oplog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
)

// Log is a file of operations that are not yet in the tables. A commit is one frame, written and synced
// before it is acknowledged. Most messages are deleted before they would ever reach a table. A
// transaction that moves all operations to the tables counts the generation up, which voids the log;
// the file is then written again from its beginning.
//
// Frames say how far the tables must be, and the tables say how large the log must be: see Read. A Log
// is not safe for concurrent use.
type Log struct {
	Place Place
	Size  int64 // size of the next file, in bytes; 0 if none shall be created
	After int   // transactions before a log is worth a file
	Seen  int   // transactions without a log so far

	Active     bool // the tables say that a log belongs to them
	File       File
	Made       int64  // size of File, in bytes
	Seed       uint32 // seed of the checksums, see SeedOf
	Generation uint64 // number of the transaction that the frames follow
	Number     uint32 // number of the next frame, from 0
	At         int64  // offset of the next frame
	Buffer     []byte
	last       []byte // buffer of the empty frame at the end
}

// Place is where a log is kept.
type Place interface {
	// Create creates or replaces a file of size zeros. It exists with all its room after a power cut.
	Create(size int64) (File, error)
	// Read returns the content of the file, or an error that matches fs.ErrNotExist.
	Read() ([]byte, error)
	// Remove deletes the file. The deletion need not be durable.
	Remove() error
}

// File is a log open for writing.
type File interface {
	WriteAt(b []byte, at int64) (int, error)
	// Sync makes the written bytes durable.
	Sync() error
	Close() error
}

const (
	// MaxBytes is the largest size of a log. It also bounds the memory for messages that are only in
	// the log.
	MaxBytes = 4 << 20
	// LeastBytes is the smallest useful log.
	LeastBytes = 64 << 10
	// Share is the size of the reserve in logs. Moving a log to the tables needs room for its messages
	// in SQLite's write-ahead log and in the tables, where a message may take up to twice its size.
	Share = 6
	// MaxPending bounds the rows that change when the log moves to the tables, and so the room for
	// that.
	MaxPending = 2048
	// StartAfter is the number of transactions without a log, so that a program that changes little
	// creates no file.
	StartAfter = 16
)

// A frame is mark, checksum of all that follows it, generation, number, length of the operations, and
// the operations. It begins at a multiple of SectorBytes, so that writing it never touches bytes that
// were synced before.
const (
	frameMark   = "MQL1"
	FrameHead   = len(frameMark) + 4 + 8 + 4 + 4
	SectorBytes = 512
)

// SeedOf returns the seed of the checksums in the log of a queue file, so that frames of another file
// never count.
func SeedOf(identity uint64) uint32 {
	return crc32.Checksum(binary.LittleEndian.AppendUint64(nil, identity), machine.Checksums)
}

// Append writes ops as one frame and syncs it. fits is false, and nothing is written, if the frame is
// too large or an operation must go to the tables.
func (l *Log) Append(ops []machine.Op) (fits bool, err error) {
	room := l.Made - l.At - SectorBytes // one sector for the empty frame
	b := l.Begin(l.Buffer[:0])
	for i := range ops {
		if ops[i].Kind == machine.OpInsert && ops[i].Record.Size() > room-int64(len(b)) {
			return false, nil
		}
		var ok bool
		if b, ok = AppendOp(b, &ops[i]); !ok || int64(len(b)) > room {
			return false, nil
		}
	}
	l.Finish(b)
	l.Buffer = b
	if _, err = l.File.WriteAt(b, l.At); err == nil {
		err = l.File.Sync()
	}
	if err != nil {
		return true, fmt.Errorf("write the log of the queue file: %w", err)
	}
	l.Number++
	l.At += Sectors(len(b))
	l.terminate()
	return true, nil
}

// terminate writes an empty frame after the last one; the next frame overwrites it. It proves that all
// frames before it were acknowledged. Without it, a damaged last frame would look like one that a power
// cut left incomplete. It is not synced: that matters only if the disk loses power at the next moment
// and is damaged too.
func (l *Log) terminate() {
	l.last = l.Begin(l.last[:0])
	l.Finish(l.last)
	l.File.WriteAt(l.last, l.At)
}

// Begin appends the head of a frame, without checksum and length.
func (l *Log) Begin(b []byte) []byte {
	b = append(b, frameMark...)
	b = binary.LittleEndian.AppendUint32(b, 0) // the checksum
	b = binary.LittleEndian.AppendUint64(b, l.Generation)
	b = binary.LittleEndian.AppendUint32(b, l.Number)
	return binary.LittleEndian.AppendUint32(b, 0) // the length
}

// Finish fills in length and checksum of a frame.
func (l *Log) Finish(b []byte) {
	binary.LittleEndian.PutUint32(b[FrameHead-4:], uint32(len(b)-FrameHead))
	binary.LittleEndian.PutUint32(b[len(frameMark):], crc32.Update(l.Seed, machine.Checksums, b[len(frameMark)+4:]))
}

// Sectors rounds n up to whole sectors.
func Sectors(n int) int64 { return (int64(n) + SectorBytes - 1) / SectorBytes * SectorBytes }

// Restart starts a new generation at the beginning of the file. The old frames are void, because they
// precede the transaction of tables.
func (l *Log) Restart(tables sqlitefile.Position) {
	l.Active, l.Seed, l.Generation, l.Number, l.At = true, SeedOf(tables.Identity), tables.Commit, 0, 0
}

// End closes and removes the file. Its frames no longer count, so a failure to remove it does not
// matter.
func (l *Log) End() {
	l.Active, l.Seen = false, 0
	if l.File != nil {
		l.File.Close()
	}
	l.File = nil
	l.Discard()
}

// Discard removes a file that no longer counts. l may be nil.
func (l *Log) Discard() {
	if l != nil {
		l.Place.Remove()
	}
}

// Frame is a complete frame of a log.
type Frame struct {
	Generation uint64
	Number     uint32
	At         int64
	Payload    []byte // its operations
}

// end returns the offset of the sector after the frame, where the next one begins.
func (f *Frame) end() int64 { return f.At + Sectors(FrameHead+len(f.Payload)) }

// Read returns the operations of all frames of a generation, which follow the transaction of that
// number. The last frame may be incomplete: then it was never acknowledged. Any frame before it must be
// complete. A frame of a later generation was written after a later transaction, so the tables are
// older than what was acknowledged. Both are errors.
func Read(content []byte, seed uint32, generation uint64) ([]machine.Op, error) {
	var ops []machine.Op
	at, number := int64(0), uint32(0)
	for {
		f, ok := frameAt(content, at, seed)
		if !ok || f.Generation != generation || f.Number != number {
			break
		}
		var err error
		if ops, err = ReadOps(f.Payload, ops); err != nil {
			return nil, fmt.Errorf("frame %d at byte %d: %w", number, at, err)
		}
		number++
		at = f.end()
	}
	for f := range FramesIn(content, seed) {
		switch {
		case f.Generation > generation:
			return nil, fmt.Errorf("the frame at byte %d follows transaction %d, and the tables are at %d", f.At,
				f.Generation, generation)
		case f.Generation == generation && f.Number > number:
			return nil, fmt.Errorf("frame %d, which begins at byte %d, cannot be read, but frame %d can", number, at,
				f.Number)
		}
	}
	return ops, nil
}

// FramesIn yields every complete frame, of any generation, in file order.
func FramesIn(content []byte, seed uint32) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		for at := int64(0); at < int64(len(content)); at += SectorBytes {
			if f, ok := frameAt(content, at, seed); ok && !yield(f) {
				return
			}
		}
	}
}

// frameAt returns the frame that begins at an offset, and whether it is complete.
func frameAt(content []byte, at int64, seed uint32) (f Frame, ok bool) {
	if at+int64(FrameHead) > int64(len(content)) {
		return f, false
	}
	b := content[at:]
	if string(b[:len(frameMark)]) != frameMark {
		return f, false
	}
	length := int64(binary.LittleEndian.Uint32(b[20:]))
	if length > int64(len(b)-FrameHead) {
		return f, false
	}
	b = b[:int64(FrameHead)+length]
	if binary.LittleEndian.Uint32(b[4:]) != crc32.Update(seed, machine.Checksums, b[8:]) {
		return f, false
	}
	return Frame{binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b[16:]), at, b[FrameHead:]}, true
}
