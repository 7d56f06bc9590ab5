package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"sync"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// A receipt is sequence, receive count and queue, followed by the first half
// of a MAC over them, in unpadded URL-safe base 64.
const (
	receiptBody = 8 + 4 + 4
	receiptMAC  = 16
	receiptSize = receiptBody + receiptMAC
	receiptText = (receiptSize*8 + 5) / 6
)

// receipts makes and reads receipt handles. It is safe for concurrent use.
type receipts struct{ macs sync.Pool }

func newReceipts(secret []byte) *receipts {
	return &receipts{macs: sync.Pool{New: func() any { return &signer{mac: hmac.New(sha256.New, secret)} }}}
}

// signer makes a MAC, in memory that is used again.
type signer struct {
	mac  hash.Hash
	body [receiptBody]byte
	sum  [sha256.Size]byte
}

func (r *receipts) sign(body [receiptBody]byte) (sum [receiptMAC]byte) {
	s, ok := r.macs.Get().(*signer)
	if !ok {
		return sum // the pool holds nothing else
	}
	s.body = body
	s.mac.Reset()
	s.mac.Write(s.body[:])
	s.mac.Sum(s.sum[:0])
	sum = [receiptMAC]byte(s.sum[:])
	r.macs.Put(s)
	return sum
}

// make returns the handle of d.
func (r *receipts) make(d machine.Delivery) string {
	var buf [receiptSize]byte
	binary.BigEndian.PutUint64(buf[0:], d.Seq)
	binary.BigEndian.PutUint32(buf[8:], d.Count)
	binary.BigEndian.PutUint32(buf[12:], d.Queue)
	sum := r.sign([receiptBody]byte(buf[:]))
	copy(buf[receiptBody:], sum[:])
	var text [receiptText]byte
	base64.RawURLEncoding.Encode(text[:], buf[:])
	return string(text[:])
}

// read checks a handle and returns what it names: seq, count and queue.
func (r *receipts) read(handle string) (machine.Delivery, error) {
	if handle == "" {
		return machine.Delivery{}, rules.Refuse(ErrMissingParameter, "The request must contain the parameter "+
			"ReceiptHandle.")
	}
	var buf [receiptSize]byte
	var text [receiptText]byte
	if copy(text[:], handle) != len(text) || len(handle) != len(text) {
		return machine.Delivery{}, invalidReceipt(handle)
	}
	if n, err := base64.RawURLEncoding.Strict().Decode(buf[:], text[:]); err != nil || n != receiptSize {
		return machine.Delivery{}, invalidReceipt(handle)
	}
	want := r.sign([receiptBody]byte(buf[:]))
	if !hmac.Equal(want[:], buf[receiptBody:]) {
		return machine.Delivery{}, invalidReceipt(handle)
	}
	return machine.Delivery{
		Seq:   binary.BigEndian.Uint64(buf[0:]),
		Count: binary.BigEndian.Uint32(buf[8:]),
		Queue: binary.BigEndian.Uint32(buf[12:]),
	}, nil
}

func invalidReceipt(handle string) error {
	return rules.Refuse(ErrReceiptHandleInvalid, "The input receipt handle %q is not a valid receipt handle.",
		rules.Clip(handle))
}
