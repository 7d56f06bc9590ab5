package machine

import "strings"

// ScopeOf returns the part of a name before the bare name of the queue.
func ScopeOf(name string) string { return name[:strings.LastIndexByte(name, ':')+1] }

// DeadLetterQueue is the name of the queue that the dead letters of q go to, which
// lies in the same region and account; empty if there is none.
func (q *Queue) DeadLetterQueue() string {
	if q.Settings.Redrive == nil {
		return ""
	}
	return ScopeOf(q.Saved.Name) + q.Settings.Redrive.Target
}

// HasScope says whether a queue lies in scope.
func (st *State) HasScope(scope string) bool {
	for name := range st.Names {
		if ScopeOf(name) == scope {
			return true
		}
	}
	return false
}

// Scopes counts the scopes that hold queues, but for the default one.
func (st *State) Scopes() int {
	found := map[string]bool{}
	for name := range st.Names {
		if scope := ScopeOf(name); scope != "" {
			found[scope] = true
		}
	}
	return len(found)
}
