package treetool

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

// Status is one tree, as muster tree status -o json prints it. It leaves out unknown values.
type Status struct {
	ID          string         `json:"id"`
	Queue       string         `json:"queue"`
	State       tree.RootState `json:"state"`
	Reason      string         `json:"reason,omitzero"` // why it is paused
	Round       int            `json:"round"`
	SubmittedAt time.Time      `json:"submitted_at"`
	FinishedAt  time.Time      `json:"finished_at,omitzero"`
	// Completion is the id of the end of the last round.
	Completion string      `json:"completion,omitzero"`
	Limits     tree.Limits `json:"limits"`
	Visited    bool        `json:"visited"`
	// Created nodes are Done, Failed or Open.
	Created int64 `json:"created"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Open    int64 `json:"open"`
	// Waiting nodes are not sent yet; Out nodes are in the queue or at a worker. Both are open.
	Waiting int64 `json:"waiting"`
	Out     int64 `json:"out"`
	// ExpectedNodes estimates the nodes in all: open nodes get as many children as finished ones of their depth. If
	// ExpectedKnown is false, some depth has open nodes and no finished one. They then count without children, and the
	// estimate may be far too low. The lower bound is Created.
	ExpectedNodes float64 `json:"expected_nodes"`
	ExpectedKnown bool    `json:"expected_known"`
	// PerSecond is the recent rate of settled nodes. LeftSeconds is how long the rest takes at that rate.
	PerSecond       *float64     `json:"per_second,omitempty"`
	LeftSeconds     *float64     `json:"left_s,omitempty"`
	SlotTimeSeconds float64      `json:"slot_time_s"`
	Levels          []Level      `json:"levels"`
	FailedNodes     []FailedNode `json:"failed_nodes,omitempty"`
}

// Level counts the nodes of one depth.
type Level struct {
	Depth   int   `json:"depth"`
	Created int64 `json:"created"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Open    int64 `json:"open"`
	// Branching is the mean number of children of a finished node.
	Branching *float64 `json:"branching,omitempty"`
}

// FailedNode is a node that failed, and why.
type FailedNode struct {
	ID       string `json:"id"`
	Key      string `json:"key"`
	Depth    int32  `json:"depth"`
	Attempts int32  `json:"attempts"`
	Reason   string `json:"reason"`
}

// StatusOf describes a tree at a time, with the given failed nodes. It reads nothing.
func StatusOf(r tree.Root, failed []tree.Node, at time.Time) Status {
	// The outlook extrapolates the children of open nodes from those of finished ones.
	outlook := r.Outlook()
	s := Status{
		ID: r.ID, Queue: r.Queue, State: r.State, Reason: r.Reason, Round: r.Round, SubmittedAt: r.SubmittedAt,
		FinishedAt: r.FinishedAt,
		Limits:     r.Limits, Visited: r.Visited, Created: r.Counts.Created, Done: r.Counts.Done,
		Failed:  r.Counts.Failed,
		Open:    r.Counts.Open(),
		Waiting: r.Counts.Waiting, Out: r.Counts.Out, ExpectedNodes: float64(r.Counts.Done+r.Counts.Failed) +
			outlook.Remaining,
		ExpectedKnown: outlook.Known, SlotTimeSeconds: r.SlotTime.Seconds(), Levels: []Level{},
	}
	if r.Ended() {
		s.Completion = tree.CompletionID(r.ID, r.Round)
		// The remaining time needs a pace and an estimate of the remaining nodes, and a tree that runs.
	} else if pace, known := r.Pace.PerSecond(r.SubmittedAt, at); known {
		s.PerSecond = &pace
		if pace > 0 && outlook.Known && r.State == tree.Running {
			left := outlook.Remaining / pace
			s.LeftSeconds = &left
		}
	}
	for depth, l := range r.Levels {
		level := Level{Depth: depth, Created: l.Created, Done: l.Done, Failed: l.Failed, Open: l.Open()}
		if b, known := r.Branching(depth); known {
			level.Branching = &b
		}
		s.Levels = append(s.Levels, level)
	}
	for _, n := range failed {
		s.FailedNodes = append(s.FailedNodes, FailedNode{n.ID.String(), n.Key, n.Depth, n.Attempts, n.Reason})
	}
	return s
}

// Look reads a tree, with at most most of its failed nodes, and describes its current state. The two readings are not
// one transaction, so a node may fail between them.
func Look(ctx context.Context, store tree.Store, p *runner.Operator, id string, most int) (Status, error) {
	r, err := p.Root(ctx, id)
	if err != nil {
		return Status{}, err
	}
	failed, err := store.Nodes(ctx, id, tree.Filter{States: []tree.State{tree.Failed}, Limit: most})
	return StatusOf(r, failed, time.Now().UTC()), err
}

// All describes the current state of all trees of a store; nil only with an error.
func All(ctx context.Context, store tree.Store) ([]Status, error) {
	roots, err := store.Roots(ctx)
	if err != nil {
		return nil, err
	}
	rows := []Status{}
	for _, r := range roots {
		rows = append(rows, StatusOf(r, nil, time.Now().UTC()))
	}
	return rows, nil
}

// PrintTable prints a line for each tree.
func PrintTable(w io.Writer, rows []Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TREE\tSTATE\tNODES\tDONE\tFAILED\tOPEN\tLEFT")
	for _, s := range rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", s.ID, s.State, s.Created, s.Done, s.Failed, s.Open, s.left())
	}
	return t.Flush()
}

// left says how long the rest takes; ? when that is unknown. A tree without open nodes needs no more time.
func (s Status) left() string {
	switch {
	case s.Open == 0:
		return "-"
	case s.LeftSeconds == nil:
		return "?"
	}
	return render.Seconds(math.Ceil(*s.LeftSeconds))
}

// Line describes the progress of a tree on one line. It has no line break, because Watch redraws it in place.
func (s Status) Line() string {
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
		fmt.Fprintf(&b, "; %s a second", render.Number(*s.PerSecond))
	}
	if s.LeftSeconds != nil && s.Open > 0 {
		fmt.Fprintf(&b, ", about %s left", s.left())
	}
	if s.Reason != "" {
		fmt.Fprintf(&b, "; because %s", terminal.Escape(s.Reason, ""))
	}
	return b.String()
}

// inAll estimates the number of nodes in all. Only existing nodes make a lower bound: the children of open nodes are
// extrapolated from those of others, even where the estimate is the larger number.
func (s Status) inAll() string {
	expected := render.Number(math.Round(s.ExpectedNodes))
	switch {
	case s.ExpectedKnown:
		return ", of about " + expected
	case math.Round(s.ExpectedNodes) > float64(s.Created):
		return fmt.Sprintf(", of at least %d, and by what is known so far about %s", s.Created, expected)
	}
	return fmt.Sprintf(", of at least %d", s.Created)
}

// Print prints the state of a tree at a time, by depth, with its failed nodes.
func (s Status) Print(w io.Writer, at time.Time) error {
	end := at
	if !s.FinishedAt.IsZero() {
		end = s.FinishedAt
	}
	fmt.Fprintf(w, "%s\n", s.Line())
	fmt.Fprintf(w, "submitted %s, %s ago; slots worked for %s\n", s.SubmittedAt.Local().Format(time.DateTime),
		render.Seconds(math.Round(end.Sub(s.SubmittedAt).Seconds())), render.Seconds(s.SlotTimeSeconds))
	if s.Waiting > 0 {
		fmt.Fprintf(w, "%s not sent yet\n", render.Plural(int(s.Waiting), "node"))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nDEPTH\tNODES\tDONE\tFAILED\tOPEN\tCHILDREN EACH\t")
	for _, l := range s.Levels {
		branching := "?"
		if l.Branching != nil {
			branching = render.Number(*l.Branching)
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%s\t\n", l.Depth, l.Created, l.Done, l.Failed, l.Open, branching)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	// Without failed nodes that ends the output: the table of levels has the counts.
	if len(s.FailedNodes) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	f := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(f, "FAILED\tDEPTH\tATTEMPTS\tREASON")
	for _, n := range s.FailedNodes {
		fmt.Fprintf(f, "%s\t%d\t%d\t%s\n", terminal.Escape(n.Key, ""), n.Depth, n.Attempts,
			terminal.Escape(n.Reason, ""))
	}
	if err := f.Flush(); err != nil {
		return err
	}
	if more := s.Failed - int64(len(s.FailedNodes)); more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return nil
}
