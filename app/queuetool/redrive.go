package queuetool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
)

// The statuses of a move that runs, and of one that is complete.
const (
	running   = "running"
	completed = "completed"
)

// Move is a move of messages out of a queue, as muster queue redrive -o json prints it.
type Move struct {
	Queue string `json:"queue"`
	// To is empty when each message goes back to its source queue.
	To string `json:"to,omitzero"`
	// Status is running, completed, cancelled or failed.
	Status string `json:"status"`
	// Failure says why it failed.
	Failure string    `json:"failure,omitzero"`
	Started time.Time `json:"started"`
	// PerSecond limits the messages moved in a second; 0 means no limit.
	PerSecond int `json:"per_second"`
	// Moved counts the moved messages, out of the ToMove messages that waited when the move began.
	Moved  int `json:"moved"`
	ToMove int `json:"to_move"`
	// id identifies the move where it runs.
	id string
}

// mover moves messages out of a queue. A started move continues by itself. There is one for SQS endpoints and one for a
// data directory.
type mover interface {
	start(ctx context.Context, from, to string, perSecond int) error
	// moves returns the last moves, the newest first.
	moves(ctx context.Context, from string) ([]Move, error)
	// cancel ends a running move.
	cancel(ctx context.Context, m Move) error
}

// Redrive moves messages out of the queue From: to the queue To or, when To is empty, back to their source queues.
type Redrive struct {
	From, To string
	// Here is true when this process moves the messages. The move then lasts only as long as the process.
	Here  bool
	mover mover
}

// WithRedrive chooses what moves messages out of the queue from: the SQS endpoint of where, or that of the running
// muster up, or else the data directory of the place. The names are bare. An empty to means back to the source queues.
// An endpoint is used only when the user names one. muster up is reached through its own SQS endpoint, with the scope
// of where.
func WithRedrive(ctx context.Context, place client.Place, where *Where, from, to string, do func(Redrive) error) error {
	if err := where.Check(); err != nil {
		return err
	}
	if where.Endpoint == "" {
		// Open also lists the queues, so that a mistyped name is found before a move starts.
		o, err := Open(ctx, place)
		if err != nil {
			return err
		}
		defer o.Close()
		for _, name := range []string{from, to} {
			if err := o.need(where.Key(name)); err != nil && name != "" {
				return err
			}
		}
		if o.service != nil { // a data directory knows queues by their scoped names
			r := Redrive{From: where.Key(from), To: where.Key(to), Here: true, mover: ownMover{o.service}}
			return errors.Join(do(r), o.Close())
		}
	}
	c, err := where.Client(ctx, place)
	if err != nil {
		return err
	}
	return do(Redrive{From: from, To: to, mover: sqsMover{c}})
}

// Start begins a move of at most perSecond messages a second, 0 for no limit, and returns it. The returned move may
// have ended already.
func (r Redrive) Start(ctx context.Context, perSecond int) (Move, error) {
	if err := r.mover.start(ctx, r.From, r.To, perSecond); err != nil {
		return Move{}, err
	}
	return r.last(ctx)
}

// Moves returns the last moves out of the queue, the newest first.
func (r Redrive) Moves(ctx context.Context) ([]Move, error) { return r.mover.moves(ctx, r.From) }

// last returns the newest move. SQS has no call for a single move, so the list is read.
func (r Redrive) last(ctx context.Context) (Move, error) {
	all, err := r.Moves(ctx)
	if err != nil {
		return Move{}, err
	}
	if len(all) == 0 {
		return Move{}, fmt.Errorf("redrive %s: the move that was started is not listed; see muster queue redrive "+
			"%s --status",
			r.From, r.From)
	}
	return all[0], nil
}

// pollEvery is the interval between two readings of a running move.
const pollEvery = 200 * time.Millisecond

// Wait shows the progress of the move until it is over, and returns the result. If the context ends, the move goes on.
func (r Redrive) Wait(ctx context.Context, m Move, progress io.Writer) (Move, error) {
	shown := terminal.NewProgress(progress, "moved", 0)
	defer shown.Done()
	for m.Status == running {
		shown.Total = m.ToMove
		shown.At(m.Moved)
		// An interrupt ends the wait and not the move.
		if host.Sleep(ctx, pollEvery) != nil {
			return m, fmt.Errorf("redrive %s: no longer waiting, after %d of %d messages; "+
				"the move goes on while muster up runs. See --status, or end it with --cancel", r.From, m.Moved,
				m.ToMove)
		}
		var err error
		if m, err = r.last(ctx); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Cancel stops the running move and returns the result. Messages that were moved stay moved.
func (r Redrive) Cancel(ctx context.Context) (Move, error) {
	// The running move is always the newest: a queue can have only one.
	m, err := r.last(ctx)
	if err != nil || m.Status != running {
		return m, errors.Join(err, fmt.Errorf("redrive %s: no move is running", r.From))
	}
	// The move may end between the reading and this call; the error then says so.
	if err := r.mover.cancel(ctx, m); err != nil {
		return m, err
	}
	return r.last(ctx)
}

// Failed returns an error for a move that was cancelled or failed; nil for one that runs or is complete.
func (r Redrive) Failed(m Move) error {
	if m.Status == running || m.Status == completed {
		return nil
	}
	return fmt.Errorf("redrive %s: the move %s after %d of %d messages%s", r.From, over(m.Status), m.Moved, m.ToMove,
		because(m.Failure))
}

// Print prints the result of a move that did not fail: what was moved or, without waiting, what is being moved.
func (r Redrive) Print(w io.Writer, m Move) error {
	to := "back to their source queues"
	if m.To != "" {
		to = "to " + m.To
	}
	var err error
	switch {
	// An empty queue is no failure: the goal is reached.
	case m.ToMove == 0:
		_, err = fmt.Fprintf(w, "no message waits in %s\n", r.From)
	case m.Status == completed:
		_, err = fmt.Fprintf(w, "moved %s from %s %s\n", render.Plural(m.Moved, "message"), r.From, to)
	default:
		_, err = fmt.Fprintf(w, "moving %s from %s %s\nshow its progress: muster queue redrive %s --status\n",
			render.Plural(m.ToMove, "message"), r.From, to, r.From)
	}
	return err
}

// PrintMoves prints a table of moves, the newest first.
func (r Redrive) PrintMoves(w io.Writer, all []Move) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(w, "no move out of %s is known\n", r.From)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STARTED\tSTATUS\tMOVED\tTO\tRATE\tWHY")
	for _, m := range all {
		rate := "-"
		if m.PerSecond > 0 {
			rate = fmt.Sprintf("%d/s", m.PerSecond)
		}
		fmt.Fprintf(t, "%s\t%s\t%d of %d\t%s\t%s\t%s\n", m.Started.Local().Format("2006-01-02 15:04:05"), m.Status,
			m.Moved,
			m.ToMove, cmp.Or(m.To, "source queues"), rate, cmp.Or(m.Failure, "-"))
	}
	return t.Flush()
}

// over says how a move ended, as the verb of a sentence.
func over(status string) string {
	if status == "cancelled" {
		return "was cancelled"
	}
	return status
}

// because adds the reason of a failure to a sentence, if there is one.
func because(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + failure
}

// failureWords explains the failure code of a move.
func failureWords(code string) string {
	switch {
	case code == "":
		return ""
	case strings.Contains(code, "CouldNotDetermineMessageSource"):
		return "a message was not moved here from another queue, so it has no source queue; name a queue with --to"
	case strings.Contains(code, "NonExistentQueue"):
		return "a queue that a message should go to does not exist, or is of another kind; name a queue with --to"
	}
	return code
}
