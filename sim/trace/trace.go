package trace

import (
	"io"
	"time"
)

// Message is one message of a trace.
type Message struct {
	// Arrival is when the message is sent, counted from the start of the trace. It is at least 0 and not before the
	// arrival of the message before. For a child it counts from the end of its parent's work.
	Arrival time.Duration
	// Service is how long the work takes in one slot; at least 0.
	Service time.Duration
	// Class names the kind of work, as a message attribute would. Group is the FIFO group. Both may be empty.
	Class, Group string
	// Children are sent when this message finishes.
	Children []Message
}

// Reader returns the messages of a trace, one after the other. It must not be used by several goroutines at once.
type Reader interface {
	// Next returns the next message, and [io.EOF] after the last one. Any other error names the file and the line, and
	// says what was found and what is expected there; it is returned again by each later call.
	Next() (Message, error)
}

// Trace is a trace that can be read from its start as often as needed, with the same messages each time. Several
// readers of one trace may be open at once.
type Trace struct {
	// Name is what tables call the trace: the name of its file, or the text that generated it.
	Name string
	// Open starts reading at the first message. A reader that is also an [io.Closer] must be closed.
	Open func() (Reader, error)
}

// Of returns a trace of the given messages, for tests and short examples.
func Of(name string, messages ...Message) Trace {
	return Trace{Name: name, Open: func() (Reader, error) { return &slice{messages}, nil }}
}

// slice reads messages from memory.
type slice struct{ left []Message }

// Next implements [Reader].
func (s *slice) Next() (Message, error) {
	if len(s.left) == 0 {
		return Message{}, io.EOF
	}
	m := s.left[0]
	s.left = s.left[1:]
	return m, nil
}

// Each calls use with every message of t, in their order, until use returns false. It opens and closes the reader.
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
