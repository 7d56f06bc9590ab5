package event

import "time"

const (
	// Remembered is how long an id counts as repeated. A later repetition costs one poll.
	Remembered = 15 * time.Minute
	// MaxSeen bounds the number of remembered ids. Beyond it the oldest are forgotten.
	MaxSeen = 10_000
)

// Seen remembers the ids of recent events. The zero Seen is empty. Its memory is bounded, and every call takes constant
// time on average. It is not safe for concurrent use.
type Seen struct {
	at map[string]time.Time
	// order holds the keys of at, oldest first, from begin on.
	order []string
	begin int
}

// First tells whether an event with this key was not seen before, and remembers it. An empty key is always first. Times
// may repeat; one that goes back only shortens the memory.
func (s *Seen) First(key string, now time.Time) bool {
	if key == "" {
		return true
	}
	if at, known := s.at[key]; known && now.Sub(at) < Remembered {
		return false
	}
	for s.begin < len(s.order) && (len(s.at) >= MaxSeen || now.Sub(s.at[s.order[s.begin]]) >= Remembered) {
		delete(s.at, s.order[s.begin])
		s.begin++
	}
	if s.begin > MaxSeen {
		// The forgotten half of the list is released at once, so that most calls copy nothing.
		s.order, s.begin = append([]string(nil), s.order[s.begin:]...), 0
	}
	if s.at == nil {
		s.at = map[string]time.Time{}
	}
	if _, listed := s.at[key]; !listed { // an expired key may stand behind a newer one when times went back
		s.order = append(s.order, key)
	}
	s.at[key] = now
	return true
}
