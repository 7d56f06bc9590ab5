package worker

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// maxClassBytes bounds the name of a class.
	maxClassBytes = 64
	// OtherClass is [protocol.OtherClass].
	OtherClass = protocol.OtherClass
)

// classOf returns the class of m: the text of the named attribute. It is empty when m lacks the attribute or no name is
// given, and OtherClass when the text is no usable name.
func classOf(m Message, attribute string) string {
	class := m.Attributes[attribute].Text
	switch {
	case attribute == "" || class == "":
		return ""
	case len(class) > maxClassBytes, !utf8.ValidString(class),
		strings.ContainsFunc(class, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return OtherClass
	}
	return class
}
