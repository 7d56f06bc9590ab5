package terminal_test

import (
	"testing"

	"github.com/muster-scale/muster/internal/terminal"
)

func TestWhatIsShownCommandsNoTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日": "plain é 日", "a\x1b[31mb": `a\x1b[31mb`, "a\u009b31mb": `a\u009b31mb`, "a\r\nb\tc": `a\r\nb\tc`,
		"\u202e": `\u202e`, "it's \"it\" \\": "it's \"it\" \\",
	} {
		if got := terminal.Escape(text, ""); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := terminal.Escape("a\r\nb\tc", "\n\t"); got != "a\\r\nb\tc" {
		t.Errorf("with line ends kept: %q", got)
	}
	if got, cut := terminal.Clip("日本\n語", 3); got != `日本\n` || !cut {
		t.Errorf("clipped to %q, %t", got, cut)
	}
}

func TestAShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"/var/lib/muster": "/var/lib/muster", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'",
	} {
		if got := terminal.ShellWord(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}
