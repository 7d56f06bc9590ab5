package tree

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Message is what travels in the queue for a node. In the queue it is a JSON object whose first member is muster_tree.
type Message struct {
	// Format is the version of the form, [MessageFormat].
	Format int `json:"muster_tree"`
	// Root and Node name the node; the store knows all else. Parent, Key, Depth and Body repeat it for who looks at the
	// queue.
	Root   string `json:"root"`
	Node   ID     `json:"node"`
	Parent ID     `json:"parent,omitzero"`
	Key    string `json:"key"`
	Depth  int    `json:"depth"`
	// DepthLeft is how much deeper children may lie: at 0 the work goes on sequentially.
	DepthLeft int    `json:"depth_left"`
	Body      string `json:"body,omitzero"`
}

// MessageFormat is the only format so far.
const MessageFormat = 1

// mark begins every message that names a node.
const mark = `{"muster_tree":`

// NewMessage returns the message for a node of a root.
func NewMessage(r Root, n Node) Message {
	return Message{
		Format: MessageFormat, Root: r.ID, Node: n.ID, Parent: n.Parent, Key: n.Key, Depth: int(n.Depth),
		DepthLeft: r.Limits.left(int(n.Depth)), Body: n.Body,
	}
}

// Encode returns the message as it travels.
func (m Message) Encode() (string, error) {
	b, err := json.Marshal(m)
	return string(b), err
}

// Decode reads a message body. It is false when the body does not name a node. Members that it does not know are passed
// over, so that later versions may add some.
func Decode(body string) (m Message, isNode bool, err error) {
	if !strings.HasPrefix(body, mark) {
		return Message{}, false, nil
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return Message{}, true, fmt.Errorf("read the message of a node: %w", err)
	}
	if m.Format != MessageFormat {
		return Message{}, true, fmt.Errorf("read the message of a node: found format %d, this program knows format "+
			"%d; update it", m.Format, MessageFormat)
	}
	if err := CheckRootID(m.Root); err != nil {
		return Message{}, true, fmt.Errorf("read the message of a node: %w", err)
	}
	return m, true, nil
}
