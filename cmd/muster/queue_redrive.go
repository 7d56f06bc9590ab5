package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/queue"
)

// The statuses of a move, as muster queue redrive prints them.
const (
	moveRunning   = "running"
	moveCompleted = "completed"
)

// moveRow is a move of messages out of a queue, as muster queue redrive prints it.
type moveRow struct {
	Queue string `json:"queue"`
	// To is empty when each message goes back to where it came from.
	To string `json:"to,omitzero"`
	// Status is running, completed, cancelled or failed.
	Status string `json:"status"`
	// Failure says in words why it failed.
	Failure string    `json:"failure,omitzero"`
	Started time.Time `json:"started"`
	// PerSecond limits the messages moved in a second; 0 means no limit.
	PerSecond int `json:"per_second"`
	// Moved of ToMove messages are moved: those that waited when the move began.
	Moved  int `json:"moved"`
	ToMove int `json:"to_move"`
	// id names the move to who runs it.
	id string
}

// mover moves messages out of a queue. A move that was started goes on by itself.
type mover interface {
	start(ctx context.Context, from, to string, perSecond int) error
	// moves returns the last moves, the newest first.
	moves(ctx context.Context, from string) ([]moveRow, error)
	// cancel ends a running move.
	cancel(ctx context.Context, m moveRow) error
}

// redriveOptions are the flags of muster queue redrive.
type redriveOptions struct {
	to                string
	perSecond         int
	wait, status, end bool
}

func (o redriveOptions) check(cmd *cobra.Command) error {
	starts := false
	for _, name := range []string{"to", "rate", "wait"} {
		starts = starts || cmd.Flags().Changed(name)
	}
	switch {
	case o.status && o.end:
		return errors.New("give --status or --cancel, not both")
	case (o.status || o.end) && starts:
		return errors.New("--to, --rate and --wait begin a move; --status and --cancel are about one that was begun")
	case cmd.Flags().Changed("rate") && (o.perSecond < 1 || o.perSecond > queue.MaxMoveRate):
		return fmt.Errorf("--rate: found %d, allowed is 1 to %d messages a second", o.perSecond, queue.MaxMoveRate)
	}
	return nil
}

func newQueueRedrive(g *global) *cobra.Command {
	var o redriveOptions
	var place queuePlace
	cmd := &cobra.Command{
		Use: "redrive NAME", Short: "Move dead letters back to where they came from", Args: cobra.ExactArgs(1),
		Long: `Redrive moves the messages that wait in a dead-letter queue back to the queues they came from, or to another
one. They arrive as if sent now. The move goes on by itself, also after a restart of muster up; --wait stays
until it is over, --status shows it, --cancel ends it. One move at a time may run for a queue. Without a
running muster up the messages are moved in its data directory, and redrive stays until that is done.`,
		Example: `  muster queue redrive thumbnails-dead --wait
  muster queue redrive thumbnails-dead --to thumbnails --rate 10
  muster queue redrive thumbnails-dead --status`,
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return usage(err)
			}
			from, err := place.name(args[0])
			if err != nil {
				return err
			}
			if o.to, err = place.name(o.to); err != nil {
				return err
			}
			return g.withMover(cmd.Context(), &place, []string{from, o.to}, func(m mover, stay bool) error {
				if stay { // the data directory keeps queues by their keys
					from, o.to = place.key(from), place.key(o.to)
				}
				r := redriving{g: g, mover: m, from: from, redriveOptions: o, out: cmd.OutOrStdout(), shown: newProgress(cmd.ErrOrStderr(), "moved", 0)}
				r.wait = r.wait || stay
				return r.run(cmd.Context())
			})
		},
	}
	f := cmd.Flags()
	place.flags(cmd)
	f.StringVar(&o.to, "to", "", "the queue to move to; by default each message goes back to where it came from")
	f.IntVar(&o.perSecond, "rate", 0, fmt.Sprintf("the most messages a second, 1 to %d (default: as fast as it goes)", queue.MaxMoveRate))
	f.BoolVar(&o.wait, "wait", false, "stay until the move is over")
	f.BoolVar(&o.status, "status", false, "show the last moves out of the queue")
	f.BoolVar(&o.end, "cancel", false, "end the running move; what was moved stays moved")
	cmd.RegisterFlagCompletionFunc("to", func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return g.completeQueues(c, nil, word)
	})
	return cmd
}

// withMover finds who can move messages of the queues that are named: the SQS endpoint at the given address or that of the
// running muster up, or else the data directory. Then the command has to stay, because nobody else moves.
func (g *global) withMover(ctx context.Context, place *queuePlace, names []string,
	do func(m mover, stay bool) error,
) error {
	if err := place.check(); err != nil {
		return err
	}
	if place.endpoint != "" {
		client, err := g.client(ctx, place)
		if err != nil {
			return err
		}
		return do(sqsMover{client}, false)
	}
	o, err := g.openQueues(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	for _, name := range names {
		if err := o.need(place.key(name)); err != nil && name != "" {
			return err
		}
	}
	if o.service != nil {
		return errors.Join(do(ownMover{o.service}, true), o.close())
	}
	client, err := g.client(ctx, place)
	if err != nil {
		return err
	}
	return do(sqsMover{client}, false)
}

// redriving is one run of muster queue redrive.
type redriving struct {
	g *global
	mover
	from string
	redriveOptions
	out   io.Writer
	shown *progress
}

func (r redriving) run(ctx context.Context) error {
	switch {
	case r.status:
		return r.list(ctx)
	case r.end:
		return r.stop(ctx)
	}
	if err := r.start(ctx, r.from, r.to, r.perSecond); err != nil {
		return err
	}
	m, err := r.last(ctx)
	if err == nil && r.wait {
		m, err = r.stay(ctx, m)
	}
	if err != nil {
		return err
	}
	return r.tell(m)
}

// last returns the newest move.
func (r redriving) last(ctx context.Context) (moveRow, error) {
	all, err := r.moves(ctx, r.from)
	if err != nil {
		return moveRow{}, err
	}
	if len(all) == 0 {
		return moveRow{}, fmt.Errorf("redrive %s: the move that was begun is not to be found; see muster queue redrive %s --status", r.from, r.from)
	}
	return all[0], nil
}

// moveLook is the time between two looks at a running move.
const moveLook = 200 * time.Millisecond

// stay looks at the move until it is over.
func (r redriving) stay(ctx context.Context, m moveRow) (moveRow, error) {
	defer r.shown.done()
	for m.Status == moveRunning {
		r.shown.total = m.ToMove
		r.shown.at(m.Moved)
		if host.Sleep(ctx, moveLook) != nil {
			return m, fmt.Errorf("redrive %s: no longer waiting, after %d of %d messages; the move goes on while muster up runs. See --status, or end it with --cancel",
				r.from, m.Moved, m.ToMove)
		}
		var err error
		if m, err = r.last(ctx); err != nil {
			return m, err
		}
	}
	return m, nil
}

// tell prints what became of the move. One that is over, and not complete, is a failure.
func (r redriving) tell(m moveRow) error {
	if r.g.json() {
		if err := printJSON(r.out, m); err != nil {
			return err
		}
	}
	where := "back to where they came from"
	if m.To != "" {
		where = "to " + m.To
	}
	var err error
	switch {
	case m.Status != moveRunning && m.Status != moveCompleted:
		err = fmt.Errorf("redrive %s: the move %s after %d of %d messages%s", r.from, over(m.Status), m.Moved, m.ToMove, because(m.Failure))
	case r.g.json():
	case m.ToMove == 0:
		_, err = fmt.Fprintf(r.out, "no message waits in %s\n", r.from)
	case m.Status == moveCompleted:
		_, err = fmt.Fprintf(r.out, "moved %s of %s %s\n", muster.Plural(m.Moved, "message"), r.from, where)
	default:
		_, err = fmt.Fprintf(r.out, "moving %s of %s %s\nsee how far it is with: muster queue redrive %s --status\n", muster.Plural(m.ToMove, "message"), r.from, where, r.from)
	}
	return err
}

func over(status string) string {
	if status == "cancelled" {
		return "was cancelled"
	}
	return status
}

func because(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + failure
}

// failureWords says what a person can do about the failure of a move.
func failureWords(code string) string {
	switch {
	case code == "":
		return ""
	case strings.Contains(code, "CouldNotDetermineMessageSource"):
		return "a message did not come from another queue, so there is no way back; name a queue with --to"
	case strings.Contains(code, "NonExistentQueue"):
		return "a queue that a message should go to does not exist, or is of another kind; name a queue with --to"
	}
	return code
}

func (r redriving) list(ctx context.Context) error {
	all, err := r.moves(ctx, r.from)
	if err != nil {
		return err
	}
	if r.g.json() {
		return printJSON(r.out, map[string]any{"moves": append([]moveRow{}, all...)})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(r.out, "no move out of %s is known\n", r.from)
		return err
	}
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STARTED\tSTATUS\tMOVED\tTO\tRATE\tWHY")
	for _, m := range all {
		rate := "-"
		if m.PerSecond > 0 {
			rate = fmt.Sprintf("%d/s", m.PerSecond)
		}
		fmt.Fprintf(t, "%s\t%s\t%d of %d\t%s\t%s\t%s\n", m.Started.Local().Format("2006-01-02 15:04:05"), m.Status, m.Moved, m.ToMove,
			cmp.Or(m.To, "where they came from"), rate, cmp.Or(m.Failure, "-"))
	}
	return t.Flush()
}

// stop cancels the running move.
func (r redriving) stop(ctx context.Context) error {
	m, err := r.last(ctx)
	if err != nil || m.Status != moveRunning {
		return errors.Join(err, fmt.Errorf("redrive %s: no move is running", r.from))
	}
	if err := r.cancel(ctx, m); err != nil {
		return err
	}
	if m, err = r.last(ctx); err != nil {
		return err
	}
	if r.g.json() {
		return printJSON(r.out, m)
	}
	_, err = fmt.Fprintf(r.out, "cancelled after %d of %d messages; what was moved stays moved\n", m.Moved, m.ToMove)
	return err
}
