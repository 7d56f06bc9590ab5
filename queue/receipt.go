package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"sync"
)

// A receipt is sequence, receive count and queue, followed by the first half
// of a MAC over them, in unpadded URL-safe base 64.
const (
	receiptBody = 8 + 4 + 4
	receiptMAC  = 16
	receiptSize = receiptBody + receiptMAC
	secretBytes = 32
)

// receipts makes and reads receipt handles. It is safe for concurrent use.
type receipts struct{ macs sync.Pool }

func newReceipts(secret []byte) *receipts {
	return &receipts{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}}
}

func (r *receipts) sign(sum []byte, body []byte) []byte {
	mac, ok := r.macs.Get().(hash.Hash)
	if !ok {
		return nil // the pool holds nothing else
	}
	mac.Reset()
	mac.Write(body)
	sum = mac.Sum(sum)
	r.macs.Put(mac)
	return sum
}

// make returns the handle of d.
func (r *receipts) make(d delivery) string {
	var buf [receiptBody + sha256.Size]byte
	binary.BigEndian.PutUint64(buf[0:], d.seq)
	binary.BigEndian.PutUint32(buf[8:], d.count)
	binary.BigEndian.PutUint32(buf[12:], d.queue)
	r.sign(buf[:receiptBody], buf[:receiptBody])
	return base64.RawURLEncoding.EncodeToString(buf[:receiptSize])
}

// read checks a handle and returns what it names: seq, count and queue.
func (r *receipts) read(handle string) (delivery, error) {
	if handle == "" {
		return delivery{}, refuse(ErrMissingParameter, "The request must contain the parameter ReceiptHandle.")
	}
	var buf [receiptSize]byte
	if len(handle) != base64.RawURLEncoding.EncodedLen(receiptSize) {
		return delivery{}, invalidReceipt(handle)
	}
	if n, err := base64.RawURLEncoding.Strict().Decode(buf[:], []byte(handle)); err != nil || n != receiptSize {
		return delivery{}, invalidReceipt(handle)
	}
	var sum [sha256.Size]byte
	want := r.sign(sum[:0], buf[:receiptBody])
	if !hmac.Equal(want[:receiptMAC], buf[receiptBody:]) {
		return delivery{}, invalidReceipt(handle)
	}
	return delivery{
		seq:   binary.BigEndian.Uint64(buf[0:]),
		count: binary.BigEndian.Uint32(buf[8:]),
		queue: binary.BigEndian.Uint32(buf[12:]),
	}, nil
}

func invalidReceipt(handle string) error {
	return refuse(ErrReceiptHandleInvalid, "The input receipt handle %q is not a valid receipt handle of this queue.", clip(handle))
}
