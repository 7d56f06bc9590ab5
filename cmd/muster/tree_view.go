package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

// treeStatus is one tree as muster tree status -o json prints it. What is unknown is left out.
type treeStatus struct {
	ID          string         `json:"id"`
	Queue       string         `json:"queue"`
	State       tree.RootState `json:"state"`
	Reason      string         `json:"reason,omitzero"` // why it is paused
	Round       int            `json:"round"`
	SubmittedAt time.Time      `json:"submitted_at"`
	FinishedAt  time.Time      `json:"finished_at,omitzero"`
	// Completion is the id of the last round's end.
	Completion string      `json:"completion,omitzero"`
	Limits     tree.Limits `json:"limits"`
	Visited    bool        `json:"visited"`
	Created    int64       `json:"created"`
	Done       int64       `json:"done"`
	Failed     int64       `json:"failed"`
	Open       int64       `json:"open"`
	Waiting    int64       `json:"waiting"`
	Out        int64       `json:"out"`
	// ExpectedNodes is how many nodes there will be in all if open nodes have as many children as others of their depth had. Unless
	// ExpectedKnown there are open nodes at a depth of which none is done: they count without children, and the number may be far too
	// low. The least there can be is Created.
	ExpectedNodes float64 `json:"expected_nodes"`
	ExpectedKnown bool    `json:"expected_known"`
	// PerSecond is how many nodes were settled in a second lately, LeftSeconds how long the rest takes at that pace.
	PerSecond       *float64     `json:"per_second,omitempty"`
	LeftSeconds     *float64     `json:"left_s,omitempty"`
	SlotTimeSeconds float64      `json:"slot_time_s"`
	Levels          []treeLevel  `json:"levels"`
	FailedNodes     []failedNode `json:"failed_nodes,omitempty"`
}

// treeLevel counts the nodes of one depth.
type treeLevel struct {
	Depth   int   `json:"depth"`
	Created int64 `json:"created"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Open    int64 `json:"open"`
	// Branching is how many children a node that is done has on average.
	Branching *float64 `json:"branching,omitempty"`
}

// failedNode is a node that failed, and why.
type failedNode struct {
	ID       string `json:"id"`
	Key      string `json:"key"`
	Depth    int32  `json:"depth"`
	Attempts int32  `json:"attempts"`
	Reason   string `json:"reason"`
}

// statusOf describes a tree at an instant.
func statusOf(r tree.Root, failed []tree.Node, at time.Time) treeStatus {
	outlook := r.Outlook()
	s := treeStatus{
		ID: r.ID, Queue: r.Queue, State: r.State, Reason: r.Reason, Round: r.Round, SubmittedAt: r.SubmittedAt, FinishedAt: r.FinishedAt,
		Limits: r.Limits, Visited: r.Visited, Created: r.Counts.Created, Done: r.Counts.Done, Failed: r.Counts.Failed, Open: r.Counts.Open(),
		Waiting: r.Counts.Waiting, Out: r.Counts.Out, ExpectedNodes: float64(r.Counts.Done+r.Counts.Failed) + outlook.Remaining,
		ExpectedKnown: outlook.Known, SlotTimeSeconds: r.SlotTime.Seconds(), Levels: []treeLevel{},
	}
	if r.Ended() {
		s.Completion = tree.CompletionID(r.ID, r.Round)
	} else if pace, known := r.Pace.PerSecond(r.SubmittedAt, at); known {
		s.PerSecond = &pace
		if pace > 0 && outlook.Known && r.State == tree.Running {
			left := outlook.Remaining / pace
			s.LeftSeconds = &left
		}
	}
	for depth, l := range r.Levels {
		level := treeLevel{Depth: depth, Created: l.Created, Done: l.Done, Failed: l.Failed, Open: l.Open()}
		if b, known := r.Branching(depth); known {
			level.Branching = &b
		}
		s.Levels = append(s.Levels, level)
	}
	for _, n := range failed {
		s.FailedNodes = append(s.FailedNodes, failedNode{n.ID.String(), n.Key, n.Depth, n.Attempts, n.Reason})
	}
	return s
}

func newTreeStatus(f *forest) *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use: "status [ID]", Short: "Show all trees, or one by depth with its failed nodes", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 || most > tree.MaxBatch {
				return usage(fmt.Errorf("--failed: found %d, allowed is 1 to %d", most, tree.MaxBatch))
			}
			return f.with(cmd.Context(), false, func(store tree.Store, p *runner.Operator) error {
				if len(args) == 0 {
					return f.all(cmd, store)
				}
				s, err := lookAt(cmd.Context(), store, p, args[0], most)
				if err != nil {
					return err
				}
				if f.json() {
					return printJSON(cmd.OutOrStdout(), s)
				}
				return printTree(cmd.OutOrStdout(), s, time.Now())
			})
		},
	}
	cmd.Flags().IntVar(&most, "failed", 20, "how many failed nodes to show at most")
	return cmd
}

func newTreeList(f *forest) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "Show all trees, a line each",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), false, func(store tree.Store, _ *runner.Operator) error { return f.all(cmd, store) })
		},
	}
}

// lookAt describes a tree, with so many of its failed nodes.
func lookAt(ctx context.Context, store tree.Store, p *runner.Operator, id string, most int) (treeStatus, error) {
	r, err := p.Root(ctx, id)
	if err != nil {
		return treeStatus{}, err
	}
	failed, err := store.Nodes(ctx, id, tree.Filter{States: []tree.State{tree.Failed}, Limit: most})
	return statusOf(r, failed, time.Now().UTC()), err
}

// all prints a line for each tree.
func (f *forest) all(cmd *cobra.Command, store tree.Store) error {
	roots, err := store.Roots(cmd.Context())
	if err != nil {
		return err
	}
	rows := []treeStatus{}
	for _, r := range roots {
		rows = append(rows, statusOf(r, nil, time.Now().UTC()))
	}
	if f.json() {
		return printJSON(cmd.OutOrStdout(), map[string]any{"trees": rows})
	}
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TREE\tSTATE\tNODES\tDONE\tFAILED\tOPEN\tLEFT")
	for _, s := range rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", s.ID, s.State, s.Created, s.Done, s.Failed, s.Open, s.left())
	}
	return t.Flush()
}

// left says how long the rest takes, ? when nobody knows.
func (s treeStatus) left() string {
	switch {
	case s.Open == 0:
		return "-"
	case s.LeftSeconds == nil:
		return "?"
	}
	return muster.Seconds(math.Ceil(*s.LeftSeconds))
}

// line says in a line how far a tree is.
func (s treeStatus) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d done", s.ID, s.State, s.Done)
	if s.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", s.Failed)
	}
	if s.Open > 0 {
		fmt.Fprintf(&b, ", %d open", s.Open)
		b.WriteString(s.inAll())
	}
	if s.PerSecond != nil {
		fmt.Fprintf(&b, "; %s a second", muster.Number(*s.PerSecond))
	}
	if s.LeftSeconds != nil && s.Open > 0 {
		fmt.Fprintf(&b, ", about %s left", s.left())
	}
	if s.Reason != "" {
		fmt.Fprintf(&b, "; because %s", escaped(s.Reason, ""))
	}
	return b.String()
}

// inAll says of how many nodes in all. Only those that there are make a lower bound: what open nodes will name is a guess by what
// others named, also where it is a larger number.
func (s treeStatus) inAll() string {
	expected := muster.Number(math.Round(s.ExpectedNodes))
	switch {
	case s.ExpectedKnown:
		return ", of about " + expected
	case math.Round(s.ExpectedNodes) > float64(s.Created):
		return fmt.Sprintf(", of at least %d, and by what is known so far about %s", s.Created, expected)
	}
	return fmt.Sprintf(", of at least %d", s.Created)
}

func printTree(w io.Writer, s treeStatus, at time.Time) error {
	end := at
	if !s.FinishedAt.IsZero() {
		end = s.FinishedAt
	}
	fmt.Fprintf(w, "%s\n", s.line())
	fmt.Fprintf(w, "submitted %s, %s ago; slots worked for %s\n", s.SubmittedAt.Local().Format(time.DateTime), muster.Seconds(math.Round(end.Sub(s.SubmittedAt).Seconds())), muster.Seconds(s.SlotTimeSeconds))
	if s.Waiting > 0 {
		fmt.Fprintf(w, "%s not sent yet\n", muster.Plural(int(s.Waiting), "node"))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nDEPTH\tNODES\tDONE\tFAILED\tOPEN\tCHILDREN EACH\t")
	for _, l := range s.Levels {
		branching := "?"
		if l.Branching != nil {
			branching = muster.Number(*l.Branching)
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%s\t\n", l.Depth, l.Created, l.Done, l.Failed, l.Open, branching)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(s.FailedNodes) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	f := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(f, "FAILED\tDEPTH\tATTEMPTS\tREASON")
	for _, n := range s.FailedNodes {
		fmt.Fprintf(f, "%s\t%d\t%d\t%s\n", escaped(n.Key, ""), n.Depth, n.Attempts, escaped(n.Reason, ""))
	}
	if err := f.Flush(); err != nil {
		return err
	}
	if more := s.Failed - int64(len(s.FailedNodes)); more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return nil
}

func newTreeWatch(f *forest) *cobra.Command {
	var every, timeout time.Duration
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Show how far a tree is until it ends", Args: cobra.ExactArgs(1),
		Long: `Watch shows how far a tree is, how fast it goes and how long the rest will take, until the tree ends. It ends
with exit code 0 when all nodes are done, and with 1 when some failed or the tree was cancelled. With --timeout it ends
with 4 when the tree has not ended by then; the tree goes on. Off a terminal a line of its own appears every ten seconds and when
the state changes.`,
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if every < 50*time.Millisecond {
				return usage(fmt.Errorf("--every: found %s, allowed is 50ms or more", every))
			}
			if timeout < 0 {
				return usage(fmt.Errorf("--timeout: found %s, allowed is 0s (none) or more", timeout))
			}
			return f.with(cmd.Context(), false, func(store tree.Store, p *runner.Operator) error {
				return f.watch(cmd, store, p, args[0], every, timeout)
			})
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "the time between two looks")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to watch at most; 0 is until the tree ends")
	return cmd
}

// watch shows a tree until it ends, or until the timeout is over when that is above 0. On a terminal the line is drawn in place; elsewhere a line appears every ten seconds and
// when the state changes.
func (f *forest) watch(cmd *cobra.Command, store tree.Store, p *runner.Operator, id string, every, timeout time.Duration) error {
	out := cmd.ErrOrStderr()
	inPlace := isTerminal(out)
	var shown time.Time
	var state tree.RootState
	began := time.Now()
	for {
		s, err := lookAt(cmd.Context(), store, p, id, 20)
		if err != nil {
			return err
		}
		ended := s.State == tree.Complete || s.State == tree.Cancelled
		switch {
		case ended:
		case inPlace:
			fmt.Fprintf(out, "\r%s\x1b[K", s.line())
		case s.State != state || time.Since(shown) >= 10*time.Second:
			fmt.Fprintln(out, s.line())
			shown, state = time.Now(), s.State
		}
		if ended {
			if inPlace {
				fmt.Fprint(out, "\r\x1b[K")
			}
			return f.ended(cmd.OutOrStdout(), s)
		}
		pause := every
		if timeout > 0 {
			left := timeout - time.Since(began)
			if left <= 0 {
				if inPlace {
					fmt.Fprintln(out)
				}
				return &exitError{exitThreshold, fmt.Errorf("the tree %s has not ended within %s; it goes on", id, timeout)}
			}
			pause = min(pause, left)
		}
		if err := host.Sleep(cmd.Context(), pause); err != nil {
			return err
		}
	}
}

// ended prints how a tree ended.
func (f *forest) ended(out io.Writer, s treeStatus) error {
	var err error
	if f.json() {
		err = printJSON(out, s)
	} else {
		err = printTree(out, s, s.FinishedAt)
	}
	if err == nil && (s.Failed > 0 || s.State != tree.Complete) {
		return &exitError{exitFailed, fmt.Errorf("the tree %s ended with %s; muster tree retry works on them again", s.ID, muster.Plural(int(s.Failed), "failed node"))}
	}
	return err
}
