package status

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/terminal"
)

// WatchEvery is the interval of [Watch].
const WatchEvery = 2 * time.Second

// Watch prints the output of show every [WatchEvery] until ctx ends, which is no error. On a terminal each output takes
// the place of the one before, without clearing it first, so nothing flickers. Elsewhere a blank line separates them.
// An error of show ends it.
func Watch(ctx context.Context, out io.Writer, show func(io.Writer) error) error {
	for first := true; ; first = false {
		var text bytes.Buffer
		if err := show(&text); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		switch {
		case terminal.Is(out):
			width, height := 0, 0
			if f, ok := out.(*os.File); ok {
				width, height, _ = term.GetSize(int(f.Fd())) // 0 is unknown: then nothing is left out
			}
			fmt.Fprint(out, over(text.String(), first, width, height))
		case first:
			out.Write(text.Bytes())
		default:
			fmt.Fprintf(out, "\n%s", text.Bytes())
		}
		if host.Sleep(ctx, WatchEvery) != nil {
			return nil
		}
	}
}

// over returns a text that covers the one before it: from the first character of the screen on, each line to its end.
// Lines beyond the last one of the screen are left out, because they would move the others away. A line that is wider
// than the screen takes several of its rows. Sizes of 0 are unknown.
func over(text string, first bool, width, height int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if width > 0 && height > 1 {
		left := height - 1
		for i, line := range lines {
			if left -= max(1, (utf8.RuneCountInString(line)+width-1)/width); left < 0 {
				lines = lines[:i]
				break
			}
		}
	}
	begin := "\x1b[H"
	if first {
		begin += "\x1b[2J"
	}
	return begin + strings.Join(lines, "\x1b[K\n") + "\x1b[K\n\x1b[J"
}
