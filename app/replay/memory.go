package replay

import (
	"io"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

// kept is a message of a recorded trace in a third of the memory: such a message has no group and no children. class is
// an index.
type kept struct {
	arrival, service time.Duration
	class            int32
}

// inMemory reads a recorded trace of n messages once, so that each of several runs need not draw it again.
func inMemory(t trace.Trace, n int64) (trace.Trace, error) {
	all, names, classes := make([]kept, 0, n), []string{""}, map[string]int32{"": 0}
	err := t.Each(func(m trace.Message) bool {
		class, known := classes[m.Class]
		if !known {
			class = int32(len(names))
			classes[m.Class], names = class, append(names, m.Class)
		}
		all = append(all, kept{m.Arrival, m.Service, class})
		return true
	})
	return trace.Trace{Name: t.Name, Open: func() (trace.Reader, error) {
		return &memoryReader{left: all, names: names}, nil
	}}, err
}

// memoryReader reads kept messages.
type memoryReader struct {
	left  []kept
	names []string
}

// Next implements [trace.Reader].
func (r *memoryReader) Next() (trace.Message, error) {
	if len(r.left) == 0 {
		return trace.Message{}, io.EOF
	}
	m := r.left[0]
	r.left = r.left[1:]
	return trace.Message{Arrival: m.arrival, Service: m.service, Class: r.names[m.class]}, nil
}
