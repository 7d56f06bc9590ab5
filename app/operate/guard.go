package operate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/guard"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
)

// askEvery is the time between two questions of [Guard].
const askEvery = 2 * time.Second

// Guard asks whether a fleet is quiet. With a wait above 0 it asks until the fleet is quiet, or for that long, and
// returns the last judgement. progress gets a line for each change of what the fleet is busy with; on a terminal, one
// line that is redrawn. A failure while it waits counts as busy: a deployment may restart muster up itself.
func Guard(ctx context.Context, c *config.Config, fleet string, wait time.Duration, progress io.Writer,
) (guard.Judgement, error) {
	return guardEvery(ctx, c, fleet, wait, askEvery, progress)
}

// guardEvery is [Guard] with the time between two questions.
func guardEvery(ctx context.Context, c *config.Config, fleet string, wait, every time.Duration, progress io.Writer,
) (j guard.Judgement, err error) {
	began := time.Now()
	line := waitingLine{to: progress, drawn: terminal.Is(progress)}
	defer line.end()
	for {
		j, err = guard.Judgement{}, nil
		err = send(ctx, c, http.MethodGet, path(fleet, "guard"), nil, &j)
		left := wait - time.Since(began)
		if err == nil && j.Quiet || misuse.Is(err) || left <= 0 || ctx.Err() != nil {
			return j, err
		}
		text, reason := j.Sentence(), busyWith(j)
		if err != nil {
			text = fleet + " is unknown: " + err.Error()
			reason = text
		}
		line.show(text, reason, left)
		if host.Sleep(ctx, min(every, left)) != nil {
			return j, ctx.Err()
		}
	}
}

// waitingLine shows what is waited for.
type waitingLine struct {
	to    io.Writer
	drawn bool   // redrawn on a terminal
	last  string // the reason of the last line
}

// busyWith names the checks that are busy. Their evidence has ages that change with every question.
func busyWith(j guard.Judgement) (names string) {
	for _, c := range j.Checks {
		if c.Busy {
			names += c.Name + " "
		}
	}
	return names
}

// show shows a text and the time left. In a log of a pipeline it prints a line only when the reason changes.
func (l *waitingLine) show(text, reason string, left time.Duration) {
	if l.drawn {
		short, _ := terminal.Clip(text, 90)
		fmt.Fprintf(l.to, "\r\x1b[K%s; waiting for %s more", short, render.Rounded(left).Round(time.Second))
	} else if reason != l.last {
		fmt.Fprintf(l.to, "%s; waiting for %s more\n", text, render.Rounded(left).Round(time.Second))
	}
	l.last = reason
}

// end removes the line from a terminal.
func (l *waitingLine) end() {
	if l.drawn && l.last != "" {
		fmt.Fprint(l.to, "\r\x1b[K")
	}
}

// PrintJudgement prints a judgement with its evidence.
func PrintJudgement(w io.Writer, j guard.Judgement) error {
	state := "busy"
	if j.Quiet {
		state = "quiet"
	}
	fmt.Fprintf(w, "%s is %s\n", j.Fleet, state)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range j.Checks {
		state := "quiet"
		if c.Busy {
			state = "BUSY"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", c.Name, state, c.Evidence)
	}
	return t.Flush()
}
