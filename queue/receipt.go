// Receipt handles. A handle proves that this service made it, so a client cannot delete messages it
// never received. The secret is kept in the queue file: handles stay valid across restarts.

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

// A receipt is sequence (8 bytes), receive count (4) and queue id (4), followed by the first 16 bytes
// of an HMAC-SHA-256 over them, all in unpadded URL-safe base 64. Sizes are in bytes.
const (
	receiptBody = 8 + 4 + 4
	receiptMAC  = 16
	receiptSize = receiptBody + receiptMAC
	receiptText = (receiptSize*8 + 5) / 6
)

// receipts makes and checks receipt handles. It is safe for concurrent use. The pool avoids a new HMAC,
// two hashes and several allocations, for each message.
type receipts struct{ macs sync.Pool }

// newReceipts returns receipts signed with secret.
func newReceipts(secret []byte) *receipts {
	return &receipts{macs: sync.Pool{New: func() any { return &signer{mac: hmac.New(sha256.New, secret)} }}}
}

// signer computes a MAC in memory that is used again: arrays on the stack would escape through the hash
// interface.
type signer struct {
	mac  hash.Hash
	body [receiptBody]byte
	sum  [sha256.Size]byte
}

// sign returns the MAC of body.
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

// read checks a handle and returns its sequence, receive count and queue. The error is
// ErrMissingParameter or ErrReceiptHandleInvalid. The caller checks that the queue is the right one.
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

// invalidReceipt is the refusal of a handle that this service did not make. It shows only the start of
// a long handle.
func invalidReceipt(handle string) error {
	return rules.Refuse(ErrReceiptHandleInvalid, "The input receipt handle %q is not a valid receipt handle.",
		rules.Clip(handle))
}
