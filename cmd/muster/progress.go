package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// isTerminal tells whether w is a terminal that can be drawn on in place.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// progress shows how far long work is: a bar that is drawn in place on a terminal, and nothing for short work or elsewhere
// than a line every ten seconds. A total of 0 is one that nobody knows.
type progress struct {
	w     io.Writer
	began time.Time
	// left estimates how long the rest takes after n of the total; nil takes the pace so far.
	left     func(n int) time.Duration
	what     string
	total    int
	terminal bool
	shown    time.Time
	drawn    bool
}

func newProgress(w io.Writer, what string, total int) *progress {
	return &progress{w: w, what: what, total: total, terminal: isTerminal(w), began: time.Now(), shown: time.Now()}
}

// at tells that n of the total are done.
func (p *progress) at(n int) {
	every := 10 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(p.shown) < every {
		return
	}
	p.shown = time.Now()
	switch {
	case p.terminal && p.total == 0:
		fmt.Fprintf(p.w, "\r%s %d\x1b[K", p.what, n)
		p.drawn = true
		return
	case p.total == 0:
		fmt.Fprintf(p.w, "%s %d\n", p.what, n)
		return
	case !p.terminal:
		fmt.Fprintf(p.w, "%s %d of %d%s\n", p.what, n, p.total, p.estimate(n))
		return
	}
	const width = 30
	full := min(width, width*n/p.total) // more may have come meanwhile
	fmt.Fprintf(p.w, "\r[%s%s] %s %d of %d%s\x1b[K", strings.Repeat("=", full), strings.Repeat(" ", width-full), p.what, n, p.total, p.estimate(n))
	p.drawn = true
}

// estimate says how long the rest takes, as far as anybody can tell.
func (p *progress) estimate(n int) string {
	left := p.left
	if left == nil {
		left = func(n int) time.Duration {
			return time.Duration(float64(time.Since(p.began)) / float64(n) * float64(p.total-n))
		}
	}
	if n <= 0 || n >= p.total && p.left == nil {
		return ""
	}
	d := left(n)
	if d < time.Minute {
		return fmt.Sprintf(", about %s left", max(0, d).Round(time.Second))
	}
	return fmt.Sprintf(", about %.0f min left", d.Minutes())
}

// done clears the bar.
func (p *progress) done() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
