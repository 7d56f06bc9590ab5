package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Is says whether w is a terminal on which a line can be redrawn.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Progress shows how far long work is: a bar that is redrawn on a terminal, elsewhere a line every ten
// seconds. Nothing is shown for work that ends sooner. It is for use by one goroutine at a time.
type Progress struct {
	// Total is the amount of work; 0 means unknown. It may change during the work.
	Total int
	// Left estimates the remaining time after n of the total; nil extrapolates the pace so far.
	Left func(n int) time.Duration

	w        io.Writer
	began    time.Time
	what     string
	terminal bool
	// shown is the time of the last output, drawn says that a bar is on the screen.
	shown time.Time
	drawn bool
}

// NewProgress returns the progress of work that begins now. what is printed before the numbers.
func NewProgress(w io.Writer, what string, total int) *Progress {
	return &Progress{w: w, what: what, Total: total, terminal: Is(w), began: time.Now(), shown: time.Now()}
}

// At reports that n of the total are done. It may be called as often as the work advances.
func (p *Progress) At(n int) {
	every := 10 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(p.shown) < every {
		return
	}
	p.shown = time.Now()
	switch {
	case p.terminal && p.Total == 0:
		fmt.Fprintf(p.w, "\r%s %d\x1b[K", p.what, n)
		p.drawn = true
		return
	case p.Total == 0:
		fmt.Fprintf(p.w, "%s %d\n", p.what, n)
		return
	case !p.terminal:
		fmt.Fprintf(p.w, "%s %d of %d%s\n", p.what, n, p.Total, p.estimate(n))
		return
	}
	const width = 30
	full := min(width, width*n/p.Total) // n may exceed a total that was estimated
	bar := strings.Repeat("=", full) + strings.Repeat(" ", width-full)
	fmt.Fprintf(p.w, "\r[%s] %s %d of %d%s\x1b[K", bar, p.what, n, p.Total, p.estimate(n))
	p.drawn = true
}

// estimate returns a text with the remaining time; empty while that is unknown.
func (p *Progress) estimate(n int) string {
	left := p.Left
	if left == nil {
		left = func(n int) time.Duration {
			return time.Duration(float64(time.Since(p.began)) / float64(n) * float64(p.Total-n))
		}
	}
	if n <= 0 || n >= p.Total && p.Left == nil {
		return ""
	}
	d := left(n)
	if d < time.Minute {
		return fmt.Sprintf(", about %s left", max(0, d).Round(time.Second))
	}
	return fmt.Sprintf(", about %.0f min left", d.Minutes())
}

// Done removes the bar from the screen.
func (p *Progress) Done() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
