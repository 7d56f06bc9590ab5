package function

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/dynamotree"
)

// VariableTrees names the table of the trees of recursive work, as dynamodb:TABLE; without it no trees are read.
const VariableTrees = "MUSTER_TREES"

const (
	// maxRunning bounds the running trees that are read; the forecast leaves out the others.
	maxRunning = 1000
	// endedFor is how long an ended tree is not read again, because each tree costs a read. It may be retried, so this
	// is not forever.
	endedFor = 10 * time.Minute
)

// treesOf returns what reads the trees whose nodes go to some queues.
type treesOf func(queues []config.QueueRef) func(context.Context) muster.Expected

// trees opens the table of trees; the result is nil if the environment names none. It makes no call.
func (e environment) trees(ctx context.Context, h *kind.Host) (treesOf, error) {
	place := e.text(VariableTrees)
	if place == "" {
		return nil, nil
	}
	table, ok := strings.CutPrefix(place, tablePrefix)
	if !ok || table == "" {
		return nil, fmt.Errorf("found %s=%q, allowed is %sTABLE", VariableTrees, place, tablePrefix)
	}
	account, err := h.Account(ctx)
	if err != nil {
		return nil, err
	}
	cfg, err := account.Region("")
	if err != nil {
		return nil, fmt.Errorf("open the trees: %w", err)
	}
	r := &treeReader{store: dynamotree.New(dynamodb.NewFromConfig(cfg), table), ended: map[string]time.Time{}}
	return func(queues []config.QueueRef) func(context.Context) muster.Expected {
		return func(ctx context.Context) muster.Expected { return r.read(ctx, queues) }
	}, nil
}

// treeReader reads a table of trees, for all fleets of a function. Several goroutines may use it.
type treeReader struct {
	store *dynamotree.Store

	mu    sync.Mutex
	ended map[string]time.Time // when an ended tree was read last
}

// read returns the forecast of the trees whose nodes go to the queues.
func (r *treeReader) read(ctx context.Context, queues []config.QueueRef) muster.Expected {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().UTC()
	maps.DeleteFunc(r.ended, func(_ string, at time.Time) bool { return now.Sub(at) >= endedFor })
	roots, err := r.store.Running(ctx, maxRunning, func(id string) bool { return !r.ended[id].IsZero() })
	if err != nil {
		return muster.Expected{At: now, Reason: err.Error()}
	}
	for _, root := range roots {
		if root.Ended() {
			r.ended[root.ID] = now
		}
	}
	return tree.Expect(now, slices.DeleteFunc(roots, func(root tree.Root) bool {
		return !slices.ContainsFunc(queues, func(q config.QueueRef) bool { return q.URL == root.Queue })
	}))
}
