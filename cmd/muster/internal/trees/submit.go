package trees

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/treetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

// limitFlags adds the flags for the limits of a tree. submit and resume share them. The defaults in the texts are those
// of [tree.Limits.WithDefaults]; 0 in l means that a flag was not given.
func limitFlags(f *pflag.FlagSet, l *tree.Limits) {
	f.IntVar(&l.Depth, "depth", 0, "the largest depth of a node, 0 for the root node; a node at this depth does the "+
		"work below it itself; -1 allows no children (default 100)")
	f.Int64Var(&l.FanOut, "fan-out", 0, "the most children of one node (default 100000)")
	f.Int64Var(&l.Nodes, "nodes", 0, "the most nodes (default 1000000)")
	f.IntVar(&l.Attempts, "attempts", 0,
		"how often the work on a node is tried before the node counts as failed (default 5)")
	f.Int64Var(&l.Parallel, "parallel", 0, "the most nodes in the queue or in progress at once; 0 is no limit")
	f.DurationVar(&l.SlotTime, "slot-time", 0, "the most slot time (slots x time) to spend on the tree; 0 is no limit")
}

// newSubmit makes muster tree submit, the only subcommand that creates a missing store. It checks the tree and
// opens the manifest before it stores anything. With --id it may be repeated after any failure; without --id each call
// begins another tree. Unless it watches, it prints only the tree's name, for scripts.
func newSubmit(f *treeCommand) *cobra.Command {
	var (
		s     tree.Spec
		list  string
		like  string
		watch bool
	)
	cmd := &cobra.Command{
		Use: "submit --queue NAME|URL [KEY]", Short: "Begin a tree by sending its root node",
		Long: `Submit begins a tree: it sends a message that names the root node KEY. Submitting the same tree again with
the same --id changes nothing, so it may be repeated after any failure.

With --manifest the children of the root node are listed in a file, one JSON object a line like
{"key":"a","body":"b"}, and no worker works on the root node itself. KEY is then only a name, and may be left out.`,
		Example: `  muster tree submit --queue jobs --id photos /srv/photos
  muster tree submit --queue URL --id contacts --visited --depth 6 alice
  muster tree submit --queue URL --id list --manifest nodes.jsonl --watch`,
		// Without a manifest the key is what the root node is about, so it is required.
		Args: func(cmd *cobra.Command, args []string) error {
			if list != "" {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.ID, s.Manifest = cmp.Or(s.ID, treetool.NewID(time.Now())), list != ""
			// With --manifest the key may be left out, and is the name of the tree.
			if s.Node.Key = s.ID; len(args) > 0 {
				s.Node.Key = args[0]
			}
			if err := f.resolveQueues(&s); err != nil {
				return err
			}
			if _, err := s.Check(); err != nil {
				return command.Usage(err)
			}
			m, err := treetool.OpenManifest(list, cmd.InOrStdin())
			if err != nil {
				return command.Usage(err)
			}
			defer m.Close()
			return f.With(cmd.Context(), true, func(store tree.Store, p *runner.Operator) error {
				if like != "" {
					// Only the shape of the earlier tree is taken: nodes and children by depth.
					earlier, err := p.Root(cmd.Context(), like)
					if err != nil {
						return fmt.Errorf("--like %s: %w", like, err)
					}
					s.Before = earlier.Levels
				}
				r, err := p.Submit(cmd.Context(), s, m.Next)
				if err != nil {
					return err
				}
				// The store stays open: watch reads from it.
				if watch {
					return f.watch(cmd, store, p, s.ID, time.Second, 0)
				}
				if f.JSON() {
					return command.PrintJSON(cmd.OutOrStdout(), treetool.StatusOf(r, nil, time.Now().UTC()))
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", s.ID)
				return err
			})
		},
	}
	submitFlags(cmd.Flags(), &s, &list, &like, &watch)
	limitFlags(cmd.Flags(), &s.Limits)
	cmd.MarkFlagRequired("queue")
	return cmd
}

// submitFlags adds the flags of muster tree submit, except the limits.
func submitFlags(f *pflag.FlagSet, s *tree.Spec, list, like *string, watch *bool) {
	f.StringVar(&s.Queue, "queue", "", "the name or URL of the queue for the tree's messages, not a FIFO queue")
	f.StringVar(&s.ID, "id", "", "the tree's name (default: one with the time)")
	f.StringVar(&s.Node.Body, "body", "", "the body of the root node, which its work reads (default: the key)")
	f.BoolVar(&s.Visited, "visited", false,
		"visit each key once in the whole tree, for graphs in which several nodes have the same child")
	f.StringVar(list, "manifest", "", "a file with the children of the root node, - for standard input")
	f.StringVar(&s.Final.Queue, "final-queue", "",
		"the name or URL of a queue that gets a message when the tree is complete")
	f.StringVar(&s.Final.Body, "final-body", "", "the body field of the JSON message to --final-queue")
	f.StringVar(like, "like", "", "the name of an earlier, similar tree: until this one has levels of its own, "+
		"workers are launched as for the levels of that tree")
	f.BoolVar(watch, "watch", false, "then watch the tree until it ends")
}

// resolveQueues replaces the names of queues by their URLs: workers on other machines have no configuration to find
// them with.
func (f *treeCommand) resolveQueues(s *tree.Spec) (err error) {
	if s.Queue, err = client.QueueURL(f.Global.Place, s.Queue); err == nil {
		s.Final.Queue, err = client.QueueURL(f.Global.Place, s.Final.Queue)
	}
	return err
}
