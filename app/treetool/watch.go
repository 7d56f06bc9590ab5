package treetool

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

// everyLine is how often an unchanged line is printed elsewhere than on a terminal.
const everyLine = 10 * time.Second

// UnfinishedError means that [Watch] reached its timeout before the tree ended. The tree goes on.
type UnfinishedError struct {
	ID      string
	Timeout time.Duration
}

// Error implements the interface error.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the tree %s has not ended within %s; it goes on", e.ID, e.Timeout)
}

// Watch shows the progress of a tree on out until the tree ends, and returns its final state. It reads the tree at the
// interval every. A timeout above 0 ends it with an [UnfinishedError]. On a terminal it redraws one line; elsewhere it
// prints a line every ten seconds and when the state changes.
func Watch(ctx context.Context, store tree.Store, p *runner.Operator, id string, every, timeout time.Duration,
	out io.Writer,
) (Status, error) {
	inPlace := terminal.Is(out)
	var shown time.Time
	var state tree.RootState
	// The timeout counts from here, whatever the readings take.
	began := time.Now()
	for {
		s, err := Look(ctx, store, p, id, 20)
		if err != nil {
			return s, err
		}
		switch {
		// The last line is removed: the caller prints the final state.
		case s.State == tree.Complete || s.State == tree.Cancelled:
			if inPlace {
				fmt.Fprint(out, "\r\x1b[K")
			}
			return s, nil
		case inPlace:
			fmt.Fprintf(out, "\r%s\x1b[K", s.Line())
		case s.State != state || time.Since(shown) >= everyLine:
			fmt.Fprintln(out, s.Line())
			shown, state = time.Now(), s.State
		}
		pause := every
		if timeout > 0 {
			left := timeout - time.Since(began)
			// The tree is read once more at the timeout, so an end just before it is not missed.
			if left <= 0 {
				if inPlace {
					fmt.Fprintln(out)
				}
				return s, &UnfinishedError{id, timeout}
			}
			pause = min(pause, left)
		}
		if err := host.Sleep(ctx, pause); err != nil {
			return s, err
		}
	}
}

// Unsuccessful returns an error for a tree that ended with failed nodes or was cancelled.
func (s Status) Unsuccessful() error {
	if s.Failed == 0 && s.State == tree.Complete {
		return nil
	}
	return fmt.Errorf("the tree %s ended with %s; muster tree retry works on them again", s.ID,
		render.Plural(int(s.Failed), "failed node"))
}
