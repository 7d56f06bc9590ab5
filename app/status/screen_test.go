package status

import (
	"strings"
	"testing"
)

// A line that is wider than the screen once pushed the head of the table off it.
func TestAWatchLeavesOutWhatDoesNotFitTheScreen(t *testing.T) {
	const text = "head\nan umlaut ü\nlonger than twelve\nlast\n"
	for _, x := range []struct {
		width, height int
		want          string
	}{
		{80, 24, "head|an umlaut ü|longer than twelve|last"},
		{80, 4, "head|an umlaut ü|longer than twelve"},
		{11, 5, "head|an umlaut ü|longer than twelve"},
		{11, 4, "head|an umlaut ü"},
		{0, 0, "head|an umlaut ü|longer than twelve|last"},
	} {
		plain := strings.NewReplacer("\x1b[H", "", "\x1b[K", "", "\x1b[J", "")
		found := plain.Replace(over(text, false, x.width, x.height))
		if found = strings.ReplaceAll(strings.TrimSpace(found), "\n", "|"); found != x.want {
			t.Errorf("%d by %d: found %q, want %q", x.width, x.height, found, x.want)
		}
	}
}
