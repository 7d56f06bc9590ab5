package runner

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

const (
	// maxUnread bounds the output that was printed and not registered yet, in bytes.
	maxUnread = 64 << 20
)

// Command returns work that runs a program: for a message that names a node, what the program prints are the node's
// children, one JSON object a line. They are registered while it runs. A line that is none fails the attempt. The
// program sees, besides what execution.Command gives it, MUSTER_TREE_ROOT, MUSTER_TREE_NODE, MUSTER_TREE_KEY,
// MUSTER_TREE_DEPTH, MUSTER_TREE_DEPTH_LEFT and MUSTER_ATTEMPT; its idempotency key is the node's id.
func Command(c execution.Command) func(context.Context, worker.Message) error {
	return func(ctx context.Context, m worker.Message) error {
		n, ok := Of(ctx)
		if !ok {
			return c.Run(ctx, m)
		}
		return n.run(ctx, c, m)
	}
}

func (n *Node) run(ctx context.Context, c execution.Command, m worker.Message) error {
	c.Set = append(c.Set[:len(c.Set):len(c.Set)],
		"MUSTER_TREE_ROOT="+n.Root(), "MUSTER_TREE_NODE="+n.ID().String(), "MUSTER_TREE_KEY="+n.Key(),
		"MUSTER_TREE_DEPTH="+strconv.Itoa(n.Depth()), "MUSTER_TREE_DEPTH_LEFT="+strconv.Itoa(n.DepthLeft()),
		"MUSTER_ATTEMPT="+strconv.Itoa(n.Attempt()), "MUSTER_IDEMPOTENCY_KEY="+n.ID().String())
	printed := newLines()
	c.Stdout = printed
	registered := make(chan error, 1)
	go func() { registered <- n.nameAll(ctx, printed) }()
	err := c.Run(ctx, m)
	printed.close()
	if wrong := <-registered; wrong != nil {
		return wrong // it is why the program was told to end, if it was
	}
	return err
}

// nameAll names the children in the lines as they come, and sends them whenever no further line is there yet.
func (n *Node) nameAll(ctx context.Context, from *lines) error {
	number := 0
	for {
		all, more, err := from.take()
		for _, line := range all {
			number++
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			c, err := tree.ReadChild(line)
			if err == nil {
				err = n.Name(ctx, c)
			} else {
				err = n.fail(fmt.Errorf("line %d of the output: %w", number, err))
			}
			if err != nil {
				return err
			}
		}
		if err != nil {
			return n.fail(fmt.Errorf("after line %d of the output: %w", number, err))
		}
		if !more {
			return nil // what is left is registered only if the program ended well
		}
		if err := n.Flush(ctx); err != nil {
			return err
		}
	}
}

// fail ends the work as failed.
func (n *Node) fail(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over != nil {
		return n.over
	}
	return n.end(err, "")
}

// lines takes a program's output without waiting, and gives it by the line.
type lines struct {
	mu    sync.Mutex
	came  chan struct{} // has an element when there is something new
	bytes []byte
	ended bool
	over  bool // too much was unread; what came since is dropped
}

func newLines() *lines { return &lines{came: make(chan struct{}, 1)} }

// Write implements [io.Writer]. It never waits.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	if l.over = l.over || len(l.bytes)+len(b) > maxUnread; !l.over {
		l.bytes = append(l.bytes, b...)
	}
	l.mu.Unlock()
	l.tell()
	return len(b), nil
}

func (l *lines) tell() {
	select {
	case l.came <- struct{}{}:
	default:
	}
}

// close says that nothing more comes.
func (l *lines) close() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.tell()
}

// take waits for lines and returns those that are whole; the last may lack its end. There are no more when it says so.
func (l *lines) take() (all [][]byte, more bool, err error) {
	for {
		<-l.came
		l.mu.Lock()
		end := bytes.LastIndexByte(l.bytes, '\n') + 1
		if l.ended {
			end = len(l.bytes)
		}
		whole, rest := l.bytes[:end:end], l.bytes[end:]
		l.bytes = append([]byte(nil), rest...)
		ended, over := l.ended, l.over
		l.mu.Unlock()
		switch {
		case over:
			return nil, false, fmt.Errorf("more than %d MiB of children were printed faster than they could be "+
				"registered; name fewer in one node", maxUnread>>20)
		case len(rest) > tree.MaxLine:
			return nil, false, fmt.Errorf("found a line of more than %d bytes, which is all that is allowed",
				tree.MaxLine)
		}
		if len(whole) > 0 {
			all = bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
		}
		if len(all) > 0 || ended {
			return all, !ended, nil
		}
	}
}
