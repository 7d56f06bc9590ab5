package cloud

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// sorted are the keys of a map in order: nothing that comes out may hang on the order of a map.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// page cuts a list into pages: the part from a token on, at most n long, and the token of the next part.
func page[T any](all []T, token string, n int) ([]T, string, error) {
	from := 0
	if token != "" {
		if _, err := fmt.Sscanf(token, "from-%d", &from); err != nil || from < 0 || from > len(all) {
			return nil, "", invalid("The token '%s' is invalid.", token)
		}
	}
	to := min(from+n, len(all))
	next := ""
	if to < len(all) {
		next = fmt.Sprintf("from-%d", to)
	}
	return all[from:to], next, nil
}

// or is what a pointer points at, or a default.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// ptr points at a copy.
func ptr[T any](v T) *T { return &v }

// clientTokens remember what launches with a token answered.
type clientTokens struct {
	answers map[string]any
	order   []string
}

// before returns what a call with a token answered, nil for none.
func (c *clientTokens) before(token string) any { return c.answers[token] }

// keep remembers the answer of a call with a token. Calls without one are forgotten.
func (c *clientTokens) keep(token string, answer any) {
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
