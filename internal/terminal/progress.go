package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Is tells whether w is a terminal that can be drawn on in place.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Progress shows how far long work is: a bar that is drawn in place on a terminal, elsewhere a line every ten seconds,
// and nothing for short work. It is for use by one goroutine at a time.
type Progress struct {
	// Total is the amount of work; 0 means unknown. It may change while the work goes on.
	Total int
	// Left estimates how long the rest takes after n of the total; nil goes by the pace so far.
	Left func(n int) time.Duration

	w        io.Writer
	began    time.Time
	what     string
	terminal bool
	shown    time.Time
	drawn    bool
}

// NewProgress returns the progress of work that begins now and is shown on w; what comes before the numbers.
func NewProgress(w io.Writer, what string, total int) *Progress {
	return &Progress{w: w, what: what, Total: total, terminal: Is(w), began: time.Now(), shown: time.Now()}
}

// At shows that n of the total are done.
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
	full := min(width, width*n/p.Total) // more may have come meanwhile
	bar := strings.Repeat("=", full) + strings.Repeat(" ", width-full)
	fmt.Fprintf(p.w, "\r[%s] %s %d of %d%s\x1b[K", bar, p.what, n, p.Total, p.estimate(n))
	p.drawn = true
}

// estimate says how long the rest takes; empty while that is unknown.
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

// Done clears the bar.
func (p *Progress) Done() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
