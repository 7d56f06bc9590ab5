package queues

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/queuetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/queue"
)

// redriveOptions are the flags of muster queue redrive. end is --cancel.
type redriveOptions struct {
	perSecond         int
	wait, status, end bool
}

// check returns an error when the flags contradict each other. --to, --rate and --wait start a move; --status and
// --cancel are about one that was started, so they take none of these.
func (o redriveOptions) check(cmd *cobra.Command) error {
	// A given flag counts, whatever its value.
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

// newRedrive makes muster queue redrive. The move runs in muster up and goes on after this command has ended, even
// when the user interrupts --wait. Without muster up the command moves the messages itself; the move then lasts only as
// long as the command.
func newRedrive(g *command.Global) *cobra.Command {
	var o redriveOptions
	var where queuetool.Where
	var to string
	cmd := &cobra.Command{
		Use: "redrive NAME", Args: cobra.ExactArgs(1),
		Short: "Move dead letters back to their source queues, or to another queue",
		Long: `Redrive moves the messages that wait in a dead-letter queue back to their source queues, or to another queue. They
arrive as if sent now. The move continues by itself, even after a restart of muster up: --wait waits until it is over,
--status shows it, --cancel stops it. A queue can have one running move. Without a running muster up, redrive moves the
messages in the data directory itself and ends when they are moved.`,
		Example: `  muster queue redrive thumbnails-dead --wait
  muster queue redrive thumbnails-dead --to thumbnails --rate 10
  muster queue redrive thumbnails-dead --status`,
		ValidArgsFunction: completeQueues(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return command.Usage(err)
			}
			from, err := where.Name(args[0])
			if err != nil {
				return err
			}
			if to, err = where.Name(to); err != nil {
				return err
			}
			return queuetool.WithRedrive(cmd.Context(), g.Place, &where, from, to, func(r queuetool.Redrive) error {
				return o.run(cmd, g, r)
			})
		},
	}
	f := cmd.Flags()
	whereFlags(cmd, &where)
	f.StringVar(&to, "to", "", "the queue to move to (default: back to each message's source queue)")
	f.IntVar(&o.perSecond, "rate", 0, fmt.Sprintf("move at most this many messages per second, 1 to %d (default: as "+
		"fast as possible)",
		queue.MaxMoveRate))
	f.BoolVar(&o.wait, "wait", false, "wait until the move is over")
	f.BoolVar(&o.status, "status", false, "show the last moves from the queue")
	f.BoolVar(&o.end, "cancel", false, "stop the running move; moved messages stay moved")
	cmd.RegisterFlagCompletionFunc("to", func(c *cobra.Command, _ []string, word string) ([]string,
		cobra.ShellCompDirective) {
		return completeQueues(g)(c, nil, word)
	})
	return cmd
}

// run shows, cancels or starts a move, and prints the result. A move that failed or was cancelled while --wait waited
// is exit code 1.
func (o redriveOptions) run(cmd *cobra.Command, g *command.Global, r queuetool.Redrive) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	switch {
	case o.status:
		all, err := r.Moves(ctx)
		if err != nil {
			return err
		}
		if g.JSON() {
			return command.PrintJSON(out, map[string]any{"moves": append([]queuetool.Move{}, all...)})
		}
		return r.PrintMoves(out, all)
	case o.end:
		m, err := r.Cancel(ctx)
		if err != nil {
			return err
		}
		if g.JSON() {
			return command.PrintJSON(out, m)
		}
		_, err = fmt.Fprintf(out, "cancelled after %d of %d messages; moved messages stay moved\n", m.Moved, m.ToMove)
		return err
	}
	m, err := r.Start(ctx, o.perSecond)
	// A move in this process ends with it, so the command waits for it in any case.
	if err == nil && (o.wait || r.Here) {
		m, err = r.Wait(ctx, m, cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	if g.JSON() {
		err = command.PrintJSON(out, m)
	}
	if err == nil {
		err = r.Failed(m)
	}
	if err != nil || g.JSON() {
		return err
	}
	return r.Print(out, m)
}
