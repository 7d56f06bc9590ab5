package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/treetool"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

// limitFlags adds the flags for the limits of a tree.
func limitFlags(f *pflag.FlagSet, l *tree.Limits) {
	f.IntVar(&l.Depth, "depth", 0, "how deep nodes may lie below the root node, where work goes on sequentially; -1 "+
		"allows no children (default 100)")
	f.Int64Var(&l.FanOut, "fan-out", 0, "the most children of one node (default 100000)")
	f.Int64Var(&l.Nodes, "nodes", 0, "the most nodes (default 1000000)")
	f.IntVar(&l.Attempts, "attempts", 0,
		"how often the work on a node is tried before the node counts as failed (default 5)")
	f.Int64Var(&l.Parallel, "parallel", 0, "the most nodes in the queue or in work at once; 0 is no limit")
	f.DurationVar(&l.SlotTime, "slot-time", 0, "the most time of slots to spend on the tree; 0 is no limit")
}

func newTreeSubmit(f *forest) *cobra.Command {
	var (
		s     tree.Spec
		list  string
		like  string
		watch bool
	)
	cmd := &cobra.Command{
		Use: "submit --queue NAME|URL [KEY]", Short: "Begin a tree with its root node",
		Long: `Submit begins a tree: it sends a message that names the root node KEY. Submitting the same tree again under
the same --id changes nothing, so it may be repeated after any failure.

With --manifest the children of the root node are listed in a file, one JSON object a line like
{"key":"a","body":"b"}, and no worker works on the root node itself. KEY is then only a name, and may be left out.`,
		Example: `  muster tree submit --queue jobs --id photos /srv/photos
  muster tree submit --queue URL --id contacts --visited --depth 6 alice
  muster tree submit --queue URL --id list --manifest nodes.jsonl --watch`,
		Args: func(cmd *cobra.Command, args []string) error {
			if list != "" {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.ID, s.Manifest = cmp.Or(s.ID, treetool.NewID(time.Now())), list != ""
			if s.Node.Key = s.ID; len(args) > 0 {
				s.Node.Key = args[0]
			}
			if err := f.targets(&s); err != nil {
				return err
			}
			if _, err := s.Check(); err != nil {
				return usage(err)
			}
			m, err := treetool.OpenManifest(list, cmd.InOrStdin())
			if err != nil {
				return usage(err)
			}
			defer m.Close()
			return f.With(cmd.Context(), true, func(store tree.Store, p *runner.Operator) error {
				if like != "" {
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
				if watch {
					return f.watch(cmd, store, p, s.ID, time.Second, 0)
				}
				if f.json() {
					return printJSON(cmd.OutOrStdout(), treetool.StatusOf(r, nil, time.Now().UTC()))
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", s.ID)
				return err
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&s.Queue, "queue", "", "the name or URL of the queue for the tree's messages, not a FIFO queue")
	fl.StringVar(&s.ID, "id", "", "the tree's name (default: one with the time)")
	fl.StringVar(&s.Node.Body, "body", "", "what the work on the root node reads; the key when empty")
	fl.BoolVar(&s.Visited, "visited", false,
		"a key names one node of the whole tree: entities of a graph are visited once")
	fl.StringVar(&list, "manifest", "", "a file with the children of the root node, - for standard input")
	fl.StringVar(&s.Final.Queue, "final-queue", "",
		"the name or URL of a queue that gets a message when the tree is complete")
	fl.StringVar(&s.Final.Body, "final-body", "", "the body member of that message")
	fl.StringVar(&like, "like", "", "the name of an earlier tree that this one is like: workers are launched for "+
		"its levels before anything is known of this one's")
	fl.BoolVar(&watch, "watch", false, "then watch the tree to its end")
	limitFlags(fl, &s.Limits)
	cmd.MarkFlagRequired("queue")
	return cmd
}

// targets replaces the names of queues by their URLs.
func (f *forest) targets(s *tree.Spec) (err error) {
	if s.Queue, err = client.QueueURL(f.place, s.Queue); err == nil {
		s.Final.Queue, err = client.QueueURL(f.place, s.Final.Queue)
	}
	return err
}
