// Package oplog is the log in front of the tables of a queue file. A [Log] takes the operations of a commit as one
// frame, which [Read] finds again; a [Pending] is what the operations of a log add to the tables. [Place] and [File]
// are where a log is kept, so that tests can keep one on a disk that loses its power.
//
// It knows neither tables nor directories. When a log begins, and when its operations are taken over, is decided by
// package storage. See docs/decisions/0008.
package oplog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
)

// Log is a file of operations that are not yet in the tables. A commit is one frame, written and synced before it is
// acknowledged: that takes a fraction of the time of a transaction, and most messages are deleted before they would
// ever reach a table. A transaction that takes all of them over makes the log void by counting its generation up, and
// the file is written again from its beginning.
//
// Whatever is in the log says how far the tables must be, and the tables how large the log must be: see Read.
type Log struct {
	Place Place
	Size  int64 // bytes of the file; 0 if none is to be made
	After int   // transactions before a log is worth its file
	Seen  int   // transactions without one so far

	Active     bool // the tables say that there is a log
	File       File
	Made       int64  // bytes of the file that there is
	Seed       uint32 // of the checksums, so that frames of another file never count
	Generation uint64 // the transaction of the tables that the frames follow
	Number     uint32 // of the next frame
	At         int64  // where it goes
	Buffer     []byte
	last       []byte // the empty frame at the end
}

// Place is where a log is kept.
type Place interface {
	// Create makes a file of size zeros that is there, with its room, after a power cut; it replaces one that is there.
	Create(size int64) (File, error)
	// Read returns the content of the file, or an error that matches fs.ErrNotExist.
	Read() ([]byte, error)
	// Remove deletes the file. That it is gone need not be durable.
	Remove() error
}

// File is a log that is written.
type File interface {
	WriteAt(b []byte, at int64) (int, error)
	// Sync brings what was written to the disk.
	Sync() error
	Close() error
}

const (
	// MaxBytes is the size of a log, and with it a bound on the memory of what is only there.
	MaxBytes = 4 << 20
	// LeastBytes is the smallest log worth having.
	LeastBytes = 64 << 10
	// Share is how many times the log must fit into the room kept for deletes: taking it over needs room for its
	// messages in SQLite's own log and in the tables, where one may take up to twice its size.
	Share = 6
	// MaxPending bounds the rows that are changed when the log is taken over, and so the room that needs.
	MaxPending = 2048
	// StartAfter is how many transactions are made without a log, so that a program that changes little makes no file.
	StartAfter = 16
)

// A frame is a mark, a checksum over all that follows it, the generation, the number and the length of the operations,
// and these. It begins at a multiple of sectorBytes, so that writing it touches nothing that was synced before.
const (
	frameMark   = "MQL1"
	FrameHead   = len(frameMark) + 4 + 8 + 4 + 4
	SectorBytes = 512
)

// SeedOf is the seed of the checksums of frames that belong to a queue file.
func SeedOf(identity uint64) uint32 {
	return crc32.Checksum(binary.LittleEndian.AppendUint64(nil, identity), machine.Checksums)
}

// Append writes ops as one frame and syncs it. fits is false, and nothing is written, if they belong into the tables.
func (l *Log) Append(ops []machine.Op) (fits bool, err error) {
	room := l.Made - l.At - SectorBytes // for the end of the log
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

// terminate writes an empty frame after the last one, where the next one will be written over it. It says that all
// before it was acknowledged: without it, a last frame that is damaged would look like one that a power cut kept from
// being written. It is not synced: only a disk that loses its power in the next moment, and is damaged too, makes that
// difference.
func (l *Log) terminate() {
	l.last = l.Begin(l.last[:0])
	l.Finish(l.last)
	l.File.WriteAt(l.last, l.At)
}

// Begin appends the head of a frame.
func (l *Log) Begin(b []byte) []byte {
	b = append(b, frameMark...)
	b = binary.LittleEndian.AppendUint32(b, 0) // the checksum
	b = binary.LittleEndian.AppendUint64(b, l.Generation)
	b = binary.LittleEndian.AppendUint32(b, l.Number)
	return binary.LittleEndian.AppendUint32(b, 0) // the length
}

// Finish fills in the length and the checksum of a frame.
func (l *Log) Finish(b []byte) {
	binary.LittleEndian.PutUint32(b[FrameHead-4:], uint32(len(b)-FrameHead))
	binary.LittleEndian.PutUint32(b[len(frameMark):], crc32.Update(l.Seed, machine.Checksums, b[len(frameMark)+4:]))
}

// Sectors is n, rounded up to whole sectors.
func Sectors(n int) int64 { return (int64(n) + SectorBytes - 1) / SectorBytes * SectorBytes }

// Restart goes back to the beginning: what was written is void, since it precedes the transaction of the tables.
func (l *Log) Restart(tables sqlitefile.Position) {
	l.Active, l.Seed, l.Generation, l.Number, l.At = true, SeedOf(tables.Identity), tables.Commit, 0, 0
}

// End gives the file up. Nothing in it counts any more, so that it does not matter whether it can be removed.
func (l *Log) End() {
	l.Active, l.Seen = false, 0
	if l.File != nil {
		l.File.Close()
	}
	l.File = nil
	l.Discard()
}

// Discard removes a file that does not count.
func (l *Log) Discard() {
	if l != nil {
		l.Place.Remove()
	}
}

// Frame is a whole frame of a log.
type Frame struct {
	Generation uint64
	Number     uint32
	At         int64
	Payload    []byte // its operations
}

// end is the sector after the frame.
func (f *Frame) end() int64 { return f.At + Sectors(FrameHead+len(f.Payload)) }

// Read returns the operations of all frames of a generation, which follow the transaction of that number. The last
// one may be half written: then nobody was told that it is there. Any other must be whole. A frame of a later
// generation was written after a later transaction: then the tables are not those that were acknowledged.
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

// FramesIn yields every whole frame, of whatever generation, in the order of the file.
func FramesIn(content []byte, seed uint32) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		for at := int64(0); at < int64(len(content)); at += SectorBytes {
			if f, ok := frameAt(content, at, seed); ok && !yield(f) {
				return
			}
		}
	}
}

// frameAt returns the frame that begins at a byte, and whether there is a whole one.
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
