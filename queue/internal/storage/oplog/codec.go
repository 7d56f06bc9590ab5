// The encoding of operations in a frame: a kind byte, then the fields in a fixed order, numbers as
// varints, texts with their length. It is a file format: readers must understand what older programs
// wrote.

package oplog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// AppendOp adds an operation to a frame. ok is false for rare operations, which only the tables take.
func AppendOp(b []byte, o *machine.Op) (_ []byte, ok bool) {
	b = append(b, byte(o.Kind))
	switch o.Kind {
	case machine.OpInsert:
		r := o.Record
		b = binary.LittleEndian.AppendUint32(append(AppendRow(b, &o.Row), r.ID[:]...), r.Sum)
		b = appendText(appendText(appendText(b, r.Group), r.Dedup), r.Source)
		b = appendText(appendText(b, string(r.Attributes)), r.Body)
	case machine.OpUpdate:
		b = AppendRow(b, &o.Row)
	case machine.OpMove:
		b = appendText(AppendRow(binary.AppendUvarint(b, o.Seq), &o.Row), o.Source)
	case machine.OpRemove:
		b = binary.AppendUvarint(b, o.Seq)
	case machine.OpPutDedup, machine.OpDropDedup:
		d := o.Dedup
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(d.Queue)), d.Seq)
		b = binary.AppendVarint(append(appendText(b, d.Key), d.ID[:]...), d.Expires)
	default:
		return b, false
	}
	return b, true
}

// AppendRow adds the numbers of a message.
func AppendRow(b []byte, r *machine.Row) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, r.Seq), uint64(r.Queue))
	b = binary.AppendVarint(binary.AppendVarint(b, r.Sent), r.Visible)
	b = binary.AppendVarint(binary.AppendVarint(b, r.Received), r.First)
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.Count)), uint64(r.Carried))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// ReadOps decodes the operations of a frame and appends them to ops.
func ReadOps(payload []byte, ops []machine.Op) ([]machine.Op, error) {
	r := opReader{left: payload}
	return r.all(ops)
}

// opReader decodes a frame. After the first error it returns zero values, so that only err need be
// checked.
type opReader struct {
	left  []byte
	err   error
	older bool // format of schema version 2: messages have no checksum
}

func (r *opReader) all(ops []machine.Op) ([]machine.Op, error) {
	for len(r.left) > 0 {
		o := r.op()
		if r.err != nil {
			return nil, r.err
		}
		ops = append(ops, o)
	}
	return ops, nil
}

func (r *opReader) op() (o machine.Op) {
	o.Kind = machine.OpKind(r.bytes(1)[0])
	switch o.Kind {
	case machine.OpInsert:
		o.Row = r.row()
		o.Record = &machine.Record{ID: [16]byte(r.bytes(16))}
		if !r.older {
			o.Record.Sum = binary.LittleEndian.Uint32(r.bytes(4))
		}
		o.Record.Group, o.Record.Dedup, o.Record.Source = r.text(), r.text(), r.text()
		if attributes := r.text(); attributes != "" {
			o.Record.Attributes = []byte(attributes)
		}
		o.Record.Body = r.text()
	case machine.OpUpdate:
		o.Row = r.row()
	case machine.OpMove:
		o.Seq, o.Row, o.Source = r.number(), r.row(), r.text()
	case machine.OpRemove:
		o.Seq = r.number()
	case machine.OpPutDedup, machine.OpDropDedup:
		o.Dedup = &machine.DedupRow{Queue: r.small(), Seq: r.number(), Key: r.text(), ID: [16]byte(r.bytes(16)),
			Expires: r.signed()}
	default:
		r.fail(fmt.Errorf("found operation %d, which is not known", o.Kind))
	}
	return o
}

func (r *opReader) row() (out machine.Row) {
	out.Seq, out.Queue = r.number(), r.small()
	out.Sent, out.Visible, out.Received, out.First = r.signed(), r.signed(), r.signed(), r.signed()
	out.Count, out.Carried = r.small(), r.small()
	return out
}

// fail keeps the first error and ends the reading.
func (r *opReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.left = nil
}

var errShortFrame = errors.New("it ends within an operation")

// bytes returns the next n bytes. If there are fewer it fails, and returns up to 16 zero bytes so that
// callers can convert them to arrays.
func (r *opReader) bytes(n uint64) []byte {
	if n > uint64(len(r.left)) {
		r.fail(errShortFrame)
		return make([]byte, min(n, 16))
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *opReader) text() string {
	b := r.bytes(r.number())
	if r.err != nil {
		return ""
	}
	return string(b)
}

func (r *opReader) number() uint64 {
	v, n := binary.Uvarint(r.left)
	if n <= 0 {
		r.fail(errShortFrame)
		return 0
	}
	r.left = r.left[n:]
	return v
}

func (r *opReader) signed() int64 {
	v, n := binary.Varint(r.left)
	if n <= 0 {
		r.fail(errShortFrame)
		return 0
	}
	r.left = r.left[n:]
	return v
}

// small reads a number of at most 32 bits.
func (r *opReader) small() uint32 {
	v := r.number()
	if v > 1<<32-1 {
		r.fail(fmt.Errorf("found %d where at most 32 bits are allowed", v))
	}
	return uint32(v)
}
