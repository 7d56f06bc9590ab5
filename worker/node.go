package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/worker/internal/trouble"
)

// Node describes the tree node of a message and takes its children. Package tree/runner makes it; DoBatch gets it in
// [Message.Node].
type Node struct {
	// Root is the tree's name. ID is the node's, the same for every attempt. Key is the name that its parent gave it.
	Root, ID, Key string
	// Depth is 0 for the root node. DepthLeft is how much deeper children may lie; at 0 the work may name none.
	Depth, DepthLeft int
	// Name names children; Flush registers and sends the named ones. After an error the work on the node should end:
	// its attempt has failed, or is over already. Several goroutines may call both.
	Name  func(ctx context.Context, children ...tree.Child) error
	Flush func(ctx context.Context) error
}

// MaxChildren bounds the children in one answer of an endpoint, in bytes.
const MaxChildren = 16 << 20

// Key returns the idempotency key of a message: the same for every delivery.
func (m Message) Key() string {
	if m.Node != nil {
		return m.Node.ID
	}
	return m.ID
}

// WireNode is the JSON form of a node.
type WireNode struct {
	Root      string `json:"root"`
	Node      string `json:"node"`
	Key       string `json:"key"`
	Depth     int    `json:"depth"`
	DepthLeft int    `json:"depth_left"`
}

// WireNodeOf returns the JSON form of n; nil for a message that is no node.
func WireNodeOf(n *Node) *WireNode {
	if n == nil {
		return nil
	}
	return &WireNode{Root: n.Root, Node: n.ID, Key: n.Key, Depth: n.Depth, DepthLeft: n.DepthLeft}
}

// Header adds the node to the headers of a request. The key is escaped as in a URL's path, because it may hold any
// character.
func (n *Node) Header(h http.Header) {
	h.Set("X-Muster-Tree-Root", n.Root)
	h.Set("X-Muster-Tree-Node", n.ID)
	h.Set("X-Muster-Tree-Key", url.PathEscape(n.Key))
	h.Set("X-Muster-Tree-Depth", strconv.Itoa(n.Depth))
	h.Set("X-Muster-Tree-Depth-Left", strconv.Itoa(n.DepthLeft))
}

// NameLines names the children that are in the lines of an endpoint's answer.
func (n *Node) NameLines(ctx context.Context, answer []byte) error {
	number := 0
	for line := range bytes.Lines(answer) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		child, err := tree.ReadChild(line)
		if err != nil {
			return fmt.Errorf("line %d of what it says: %w", number, err)
		}
		if err := n.Name(ctx, child); err != nil {
			return err
		}
	}
	return n.Flush(ctx)
}

// WireChild is a child in the answer to a batch.
type WireChild struct {
	Delivery string `json:"delivery"`
	tree.Child
}

// NameEach names the children of a batch's messages. A refused child fails its message.
func NameEach(ctx context.Context, children []WireChild, batch []Message, places map[string]int, errs []error) error {
	for _, c := range children {
		place, ok := places[c.Delivery]
		if !ok || batch[place].Node == nil {
			return fmt.Errorf("the endpoint names a child of the delivery %s, which is unknown or no node of a tree",
				trouble.Excerpt([]byte(c.Delivery)))
		}
	}
	for _, c := range children {
		if place := places[c.Delivery]; errs[place] == nil {
			errs[place] = batch[place].Node.Name(ctx, c.Child)
		}
	}
	for i, m := range batch {
		if m.Node != nil && errs[i] == nil {
			errs[i] = m.Node.Flush(ctx)
		}
	}
	return nil
}

// ErrNoNode is what a program did wrong that names a child of a message that names no node.
var ErrNoNode = errors.New("it named a child of a delivery that is unknown, was answered before or is no node of a " +
	"tree")
