package protocol

import (
	"encoding/json"
	"testing"
)

// FuzzQuickText holds that a string is written as encoding/json writes it.
func FuzzQuickText(f *testing.F) {
	for _, s := range []string{"", "plain, and long enough for several words", "<&>\"\\\b\f\n\r\t\x00\x1f\x7f",
		"é\u2028\u2029\ufffd", "\xff\xc3", "12345678\xff", "1234567\x1f90123456<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendText(nil, s); string(got) != string(want) {
			t.Fatalf("%q is written %s, want %s", s, got, want)
		}
	})
}
