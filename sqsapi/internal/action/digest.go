// MD5 checksums of bodies and attributes, which SDKs verify. They detect transmission errors and
// protect against nothing.

package action

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/muster-scale/muster/queue"
)

// bodyMD5 returns the checksum of a body. Short bodies are copied to the stack, because converting a
// string to bytes would allocate.
func bodyMD5(body string) [md5.Size]byte {
	var small [1 << 10]byte
	if n := copy(small[:], body); n == len(body) {
		return md5.Sum(small[:n])
	}
	return md5.Sum([]byte(body))
}

// hexDigest returns a checksum as text.
func hexDigest(sum [md5.Size]byte) string {
	var text [2 * md5.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// receivedMD5 returns the checksum of a received body. The one computed on sending is kept while the
// body is in memory.
func receivedMD5(m *queue.Message) string {
	if m.Digest == ([md5.Size]byte{}) {
		return hexDigest(bodyMD5(m.Body))
	}
	return hexDigest(m.Digest)
}

// attributesMD5 returns the checksum of attributes, as the SQS Developer Guide defines it ("Calculating
// the MD5 message digest for message attributes"). For each attribute, by name: length and name, length
// and type, one byte for the kind of value, length and value. It is empty for no attributes.
func attributesMD5(attributes map[string]queue.Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	var b []byte
	add := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		add(name)
		add(a.Type)
		if isBinary(a.Type) {
			b = append(b, 2)
		} else {
			b = append(b, 1)
		}
		add(string(a.Value))
	}
	return hexDigest(md5.Sum(b))
}

// isBinary says whether an attribute type is Binary, with or without a label.
func isBinary(kind string) bool { return kind == "Binary" || strings.HasPrefix(kind, "Binary.") }
