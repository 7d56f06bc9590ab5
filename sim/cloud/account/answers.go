package account

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Sorted are the keys of a map in order: nothing that comes out may hang on the order of a map.
func Sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Page cuts a list into pages: the part from a token on, at most n long, and the token of the next part.
func Page[T any](all []T, token string, n int) ([]T, string, error) {
	from := 0
	if token != "" {
		if _, err := fmt.Sscanf(token, "from-%d", &from); err != nil || from < 0 || from > len(all) {
			return nil, "", Invalid("The token '%s' is invalid.", token)
		}
	}
	to := min(from+n, len(all))
	next := ""
	if to < len(all) {
		next = fmt.Sprintf("from-%d", to)
	}
	return all[from:to], next, nil
}

// Or is what a pointer points at, or a default.
func Or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Ptr points at a copy.
func Ptr[T any](v T) *T { return &v }

// ClientTokens remember what launches with a token answered.
type ClientTokens struct {
	answers map[string]any
	order   []string
}

// Before returns what a call with a token answered, nil for none.
func (c *ClientTokens) Before(token string) any { return c.answers[token] }

// Keep remembers the answer of a call with a token. Calls without one are forgotten.
func (c *ClientTokens) Keep(token string, answer any) {
	if token == "" {
		return
	}
	if c.answers == nil {
		c.answers = map[string]any{}
	}
	c.answers[token] = answer
	if c.order = append(c.order, token); len(c.order) > MaxClientTokens {
		delete(c.answers, c.order[0])
		c.order = c.order[1:]
	}
}
