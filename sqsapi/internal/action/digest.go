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

// bodyMD5 is the checksum of a body that SDKs verify.
func bodyMD5(body string) [md5.Size]byte {
	var small [1 << 10]byte
	if n := copy(small[:], body); n == len(body) {
		return md5.Sum(small[:n])
	}
	return md5.Sum([]byte(body))
}

// hexDigest is how a checksum is answered.
func hexDigest(sum [md5.Size]byte) string {
	var text [2 * md5.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// receivedMD5 is the checksum of a received body. The one made on sending is
// still at hand as long as the body is in memory.
func receivedMD5(m *queue.Message) string {
	if m.Digest == ([md5.Size]byte{}) {
		return hexDigest(bodyMD5(m.Body))
	}
	return hexDigest(m.Digest)
}

// attributesMD5 is the checksum of attributes, by name: each as length and
// name, length and type, one byte for the kind of value, length and value. It
// is empty if there are none.
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

func isBinary(kind string) bool { return kind == "Binary" || strings.HasPrefix(kind, "Binary.") }
