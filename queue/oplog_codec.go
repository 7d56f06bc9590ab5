package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// appendOp adds an operation to a frame. ok is false for one that is so rare that only the tables take it.
func appendOp(b []byte, o *op) (_ []byte, ok bool) {
	b = append(b, byte(o.kind))
	switch o.kind {
	case opInsert:
		r := o.record
		b = binary.LittleEndian.AppendUint32(append(appendRow(b, &o.row), r.id[:]...), r.sum)
		b = appendText(appendText(appendText(b, r.group), r.dedup), r.source)
		b = appendText(appendText(b, string(r.attributes)), r.body)
	case opUpdate:
		b = appendRow(b, &o.row)
	case opMove:
		b = appendText(appendRow(binary.AppendUvarint(b, o.seq), &o.row), o.source)
	case opRemove:
		b = binary.AppendUvarint(b, o.seq)
	case opPutDedup, opDropDedup:
		d := o.dedup
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(d.queue)), d.seq)
		b = binary.AppendVarint(append(appendText(b, d.key), d.id[:]...), d.expires)
	default:
		return b, false
	}
	return b, true
}

func appendRow(b []byte, r *row) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, r.seq), uint64(r.queue))
	b = binary.AppendVarint(binary.AppendVarint(b, r.sent), r.visible)
	b = binary.AppendVarint(binary.AppendVarint(b, r.received), r.first)
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.count)), uint64(r.carried))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// readOps appends the operations of a frame to ops.
func readOps(payload []byte, ops []op) ([]op, error) {
	r := opReader{left: payload}
	return r.all(ops)
}

// opReader takes a frame apart; after the first error it returns zeros.
type opReader struct {
	left  []byte
	err   error
	older bool // messages have no checksum
}

func (r *opReader) all(ops []op) ([]op, error) {
	for len(r.left) > 0 {
		o := r.op()
		if r.err != nil {
			return nil, r.err
		}
		ops = append(ops, o)
	}
	return ops, nil
}

func (r *opReader) op() (o op) {
	o.kind = opKind(r.bytes(1)[0])
	switch o.kind {
	case opInsert:
		o.row = r.row()
		o.record = &record{id: [16]byte(r.bytes(16))}
		if !r.older {
			o.record.sum = binary.LittleEndian.Uint32(r.bytes(4))
		}
		o.record.group, o.record.dedup, o.record.source = r.text(), r.text(), r.text()
		if attributes := r.text(); attributes != "" {
			o.record.attributes = []byte(attributes)
		}
		o.record.body = r.text()
	case opUpdate:
		o.row = r.row()
	case opMove:
		o.seq, o.row, o.source = r.number(), r.row(), r.text()
	case opRemove:
		o.seq = r.number()
	case opPutDedup, opDropDedup:
		o.dedup = &dedupRow{queue: r.small(), seq: r.number(), key: r.text(), id: [16]byte(r.bytes(16)), expires: r.signed()}
	default:
		r.fail(fmt.Errorf("found operation %d, which is not known", o.kind))
	}
	return o
}

func (r *opReader) row() (out row) {
	out.seq, out.queue = r.number(), r.small()
	out.sent, out.visible, out.received, out.first = r.signed(), r.signed(), r.signed(), r.signed()
	out.count, out.carried = r.small(), r.small()
	return out
}

func (r *opReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.left = nil
}

var errShortFrame = errors.New("it ends within an operation")

// bytes takes n bytes; the reader's own where n is at most 16 and there are fewer.
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

func (r *opReader) small() uint32 {
	v := r.number()
	if v > 1<<32-1 {
		r.fail(fmt.Errorf("found %d where at most 32 bits are allowed", v))
	}
	return uint32(v)
}
