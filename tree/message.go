package tree

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Message is the content of a queue message for a node: a JSON object whose first member is muster_tree.
type Message struct {
	// Format is the version of the format, [MessageFormat].
	Format int `json:"muster_tree"`
	// Root and Node name the node; the store has everything else. Parent, Key, Depth and Body repeat it for people who
	// look into the queue.
	Root   string `json:"root"`
	Node   ID     `json:"node"`
	Parent ID     `json:"parent,omitzero"`
	Key    string `json:"key"`
	Depth  int    `json:"depth"`
	// DepthLeft is how many levels of children are allowed. At 0 the work must do everything itself.
	DepthLeft int    `json:"depth_left"`
	Body      string `json:"body,omitzero"`
}

// MessageFormat is the only format so far.
const MessageFormat = 1

// mark is the prefix of every message of a node, and of no other message. It lets Decode skip messages without parsing.
const mark = `{"muster_tree":`

// NewMessage returns the message for a node of a root.
func NewMessage(r Root, n Node) Message {
	return Message{
		Format: MessageFormat, Root: r.ID, Node: n.ID, Parent: n.Parent, Key: n.Key, Depth: int(n.Depth),
		DepthLeft: r.Limits.left(int(n.Depth)), Body: n.Body,
	}
}

// Encode returns the body of the queue message.
func (m Message) Encode() (string, error) {
	b, err := json.Marshal(m)
	return string(b), err
}

// Decode parses a message body. isNode is false if the body does not name a node. Unknown members are ignored, so that
// later versions may add some.
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
