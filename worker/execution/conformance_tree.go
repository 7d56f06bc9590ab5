package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/worker"
)

// named collects the children that a node under test names.
type named struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (n *named) name(_ context.Context, children ...tree.Child) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range children {
		if err := c.Check(); err != nil {
			return err
		}
		n.keys[c.Key] = true
	}
	return nil
}

// children checks the rules for tree nodes, if there is a sample.
func (c *Conformance) children(ctx context.Context, do calls) {
	if c.Node == nil {
		return
	}
	m := c.message(*c.Node)
	first, err := c.nodeCall(ctx, do, m, 1)
	if err == nil && len(first) == 0 {
		err = errors.New("the sample of a node succeeded and named no child")
	}
	if err == nil {
		var again []string
		m.Attempt, m.ReceiveCount = 2, 2
		if again, err = c.nodeCall(ctx, do, m, 1); err == nil && !slices.Equal(first, again) {
			err = fmt.Errorf("the same node named %d children and then %d, some of which are others", len(first),
				len(again))
		}
	}
	c.rule("children", err)
	leaf, err := c.nodeCall(ctx, do, c.message(*c.Node), 0)
	if err == nil && len(leaf) > 0 {
		err = fmt.Errorf("it named %d children where none are allowed", len(leaf))
	}
	c.rule("depth", err)
}

// nodeCall makes a call for a node and returns the keys of the named children, sorted.
func (c *Conformance) nodeCall(ctx context.Context, do calls, m worker.Message, depthLeft int) ([]string, error) {
	took := named{keys: map[string]bool{}}
	m.Node = &worker.Node{
		Root: "conformance", ID: tree.NodeID("conformance", tree.ID{}, m.ID, false).String(), Key: m.Body,
		DepthLeft: depthLeft,
		Name:      took.name, Flush: func(context.Context) error { return nil },
	}
	err := c.call(ctx, do, m)[0]
	return slices.Sorted(maps.Keys(took.keys)), err
}

// nodeCommand runs a command for a node. Its output names the children.
func nodeCommand(ctx context.Context, command Command, m worker.Message) error {
	var printed bytes.Buffer
	command.Stdout = &printed
	command.Set = append(slices.Clone(command.Set), "MUSTER_TREE_ROOT="+m.Node.Root, "MUSTER_TREE_NODE="+m.Node.ID,
		"MUSTER_TREE_KEY="+m.Node.Key,
		"MUSTER_TREE_DEPTH=0", "MUSTER_TREE_DEPTH_LEFT="+strconv.Itoa(m.Node.DepthLeft), "MUSTER_IDEMPOTENCY_KEY="+
			m.Node.ID)
	if err := command.Run(ctx, m); err != nil {
		return err
	}
	return m.Node.NameLines(ctx, printed.Bytes())
}
