package trace

import (
	"io"
	"time"
)

// Message is one message of a trace.
type Message struct {
	// Arrival is when it is sent, since the start of the trace: at least 0, and never earlier than that of the message
	// before. For a child it counts from when its parent finished.
	Arrival time.Duration
	// Service is how long the work takes in one slot, at least 0.
	Service time.Duration
	// Class names the kind of work, as a message attribute would; Group is the FIFO group. Both may be empty.
	Class, Group string
	// Children are sent when this message finishes.
	Children []Message
}

// Reader yields the messages of a trace, one after the other. It is not safe for use by several goroutines.
type Reader interface {
	// Next returns the next message; [io.EOF] after the last one. Any other error says in which file and line what was
	// found and what is expected.
	Next() (Message, error)
}

// Trace is a trace that can be read from its start as often as needed, and gives the same messages each time.
type Trace struct {
	// Name is how tables call it: the file's name, or what generated it.
	Name string
	// Open starts reading. A reader that also is an [io.Closer] must be closed.
	Open func() (Reader, error)
}

// Of returns a trace of the given messages, for tests and short examples.
func Of(name string, messages ...Message) Trace {
	return Trace{Name: name, Open: func() (Reader, error) { return &slice{messages}, nil }}
}

type slice struct{ left []Message }

func (s *slice) Next() (Message, error) {
	if len(s.left) == 0 {
		return Message{}, io.EOF
	}
	m := s.left[0]
	s.left = s.left[1:]
	return m, nil
}

// Each calls use with every message of t, in order, until use returns false, and closes the reader.
func (t Trace) Each(use func(Message) bool) error {
	r, err := t.Open()
	if err != nil {
		return err
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	for {
		m, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !use(m) {
			return nil
		}
	}
}
