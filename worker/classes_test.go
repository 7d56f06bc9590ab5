package worker

import (
	"strings"
	"testing"
)

func TestTheClassOfAMessageIsAnAttribute(t *testing.T) {
	tests := []struct{ name, attribute, text, want string }{
		{"nobody asked", "", "large", ""},
		{"the attribute", "size", "large", "large"},
		{"another attribute", "color", "large", ""},
		{"no text", "size", "", ""},
		{"a name too long", "size", strings.Repeat("x", 65), OtherClass},
		{"a control character", "size", "a\nb", OtherClass},
		{"no text at all", "size", "\xff", OtherClass},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := Message{Attributes: map[string]Attribute{"size": {Type: "String", Text: test.text}}}
			if got := classOf(m, test.attribute); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
