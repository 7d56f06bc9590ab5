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
	// maxUnread bounds the output that was printed and is not registered yet, in bytes. The output is not throttled: a
	// program that waits for its own output could not react to a stop.
	maxUnread = 64 << 20
)

// Command returns work that runs a program. For the message of a node, the lines that the program prints are the node's
// children, one JSON object each; they are registered while it runs. Any other line fails the attempt. For other
// messages it is execution.Command.
//
// In addition to the environment of execution.Command, the program sees MUSTER_TREE_ROOT, MUSTER_TREE_NODE,
// MUSTER_TREE_KEY, MUSTER_TREE_DEPTH, MUSTER_TREE_DEPTH_LEFT and MUSTER_ATTEMPT. Its idempotency key is the node's id.
func Command(c execution.Command) func(context.Context, worker.Message) error {
	return func(ctx context.Context, m worker.Message) error {
		n, ok := Of(ctx)
		if !ok {
			return c.Run(ctx, m)
		}
		return n.run(ctx, c, m)
	}
}

// run runs the program, and registers its output in a second goroutine until both have ended.
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
		return wrong // the cause, if the program was stopped because of it
	}
	return err
}

// nameAll names the children in the program's output. It sends a batch early whenever no further line is ready, so that
// children start while a slow program still runs.
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
			return nil // the rest is registered by the runner, if the program succeeded
		}
		if err := n.Flush(ctx); err != nil {
			return err
		}
	}
}

// fail ends the work as failed, unless it was stopped already.
func (n *Node) fail(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over != nil {
		return n.over
	}
	return n.end(err, "")
}

// lines is the buffer between a program's output and the store: writing never blocks, reading is by the line.
type lines struct {
	mu    sync.Mutex
	news  chan struct{} // has an element when take must look again
	bytes []byte
	ended bool
	over  bool // the buffer was full; later output is dropped, and take fails
}

// newLines returns an empty buffer.
func newLines() *lines { return &lines{news: make(chan struct{}, 1)} }

// Write implements [io.Writer]. It never blocks and never fails: the attempt fails in take instead.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	if l.over = l.over || len(l.bytes)+len(b) > maxUnread; !l.over {
		l.bytes = append(l.bytes, b...)
	}
	l.mu.Unlock()
	l.signal()
	return len(b), nil
}

// signal wakes take, once for any number of calls.
func (l *lines) signal() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// close marks the end of the output.
func (l *lines) close() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.signal()
}

// take waits for complete lines and returns them. more is false after the last ones; the very last line may lack its
// end.
func (l *lines) take() (all [][]byte, more bool, err error) {
	for {
		<-l.news
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
			return nil, false, fmt.Errorf("found a line of more than %d bytes, the most that is allowed", tree.MaxLine)
		}
		if len(whole) > 0 {
			all = bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
		}
		if len(all) > 0 || ended {
			return all, !ended, nil
		}
	}
}
