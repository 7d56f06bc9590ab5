package board

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/tree"
)

// maxTrees bounds the trees of an answer.
const maxTrees = 200

// trees answers with the running trees.
func (l *Live) trees(w http.ResponseWriter, r *http.Request) {
	a := Trees{At: l.clock(), Trees: []Tree{}}
	if l.o.Trees != nil {
		roots, err := l.o.Trees(r.Context())
		if err != nil {
			a.Unknown = err.Error()
		}
		for _, root := range roots[:min(len(roots), maxTrees)] {
			a.Trees = append(a.Trees, treeOf(root, a.At))
		}
	}
	answer(w, a)
}

// treesOf returns the running trees whose nodes go to one of the queues. A tree has the URL of its queue, whose last
// part is the name.
func (l *Live) treesOf(ctx context.Context, queues []muster.QueueObservation, at time.Time) (all []Tree) {
	if l.o.Trees == nil {
		return nil
	}
	roots, err := l.o.Trees(ctx)
	if err != nil {
		return nil // the observation says that trees are unknown
	}
	for _, root := range roots {
		for _, q := range queues {
			if root.Queue[strings.LastIndexByte(root.Queue, '/')+1:] == q.Queue && len(all) < maxTrees {
				all = append(all, treeOf(root, at))
			}
		}
	}
	return all
}

// treeOf describes a tree at a time.
func treeOf(r tree.Root, at time.Time) Tree {
	outlook := r.Outlook()
	t := Tree{Root: r.ID, Queue: r.Queue, State: r.State, Reason: r.Reason, SubmittedAt: r.SubmittedAt.UTC(),
		Created: r.Counts.Created, Done: r.Counts.Done, Failed: r.Counts.Failed, Waiting: r.Counts.Waiting,
		Out: r.Counts.Out, Depths: []Depth{},
		Expected: knownIf(outlook.Known, float64(r.Counts.Done+r.Counts.Failed)+outlook.Remaining)}
	if pace, known := r.Pace.PerSecond(r.SubmittedAt, at); known && !r.Ended() {
		t.PerSecond = Known(pace)
		t.LeftSeconds = knownIf(pace > 0 && outlook.Known && r.State == tree.Running, outlook.Remaining/pace)
	}
	for depth, l := range r.Levels {
		t.Depths = append(t.Depths, Depth{Depth: depth, Created: l.Created, Done: l.Done, Failed: l.Failed,
			Open: l.Open()})
	}
	return t
}
