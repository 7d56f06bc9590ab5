package keys

import "testing"

func TestAFaultShowsNoPasswordOfAURL(t *testing.T) {
	for _, x := range []struct{ name, line, want string }{
		{"a password", "store: postgres://u:secret@db/x", "store: postgres://u:******@db/x"},
		{"in quotes, with a query", `a: "http://u:pä@h?q=1"`, `a: "http://u:**@h?q=1"`},
		{"an at sign within it", "a: http://u:p@s@h/", "a: http://u:***@h/"},
		{"two URLs", "[http://u:a@h/, http://v:b@h/]", "[http://u:*@h/, http://v:*@h/]"},
		{"a user alone", "a: postgres://u@h/x", "a: postgres://u@h/x"},
		{"a port", "a: http://h:80/x", "a: http://h:80/x"},
		{"no URL", "a: b:c@d", "a: b:c@d"},
	} {
		if got := withoutPasswords(x.line); got != x.want {
			t.Errorf("%s: found %q, want %q", x.name, got, x.want)
		}
	}
}
