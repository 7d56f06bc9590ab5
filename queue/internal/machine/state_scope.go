package machine

import "strings"

// ScopeOf returns the part of a queue name before the bare name, with its final colon; empty for the default scope.
func ScopeOf(name string) string { return name[:strings.LastIndexByte(name, ':')+1] }

// DeadLetterQueue returns the name of the dead-letter queue of q, which is in the same scope; empty if it has none.
func (q *Queue) DeadLetterQueue() string {
	if q.Settings.Redrive == nil {
		return ""
	}
	return ScopeOf(q.Saved.Name) + q.Settings.Redrive.Target
}

// HasScope says whether a queue is in scope.
func (st *State) HasScope(scope string) bool {
	for name := range st.Names {
		if ScopeOf(name) == scope {
			return true
		}
	}
	return false
}

// Scopes counts the scopes that hold queues, without the default one.
func (st *State) Scopes() int {
	found := map[string]bool{}
	for name := range st.Names {
		if scope := ScopeOf(name); scope != "" {
			found[scope] = true
		}
	}
	return len(found)
}
