package account

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Sorted returns the keys of a map in order. Services iterate over it instead of the map, so that nothing depends on
// the random order of maps.
func Sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Page returns the page of a list that a token names, at most n long, and the token of the next page; an empty token
// names the first page and the end. A token is a position, so a list that changes between calls may repeat or skip.
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

// Or returns what p points at, or a default when the member is absent.
func Or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// Ptr returns a pointer to a copy of v.
func Ptr[T any](v T) *T { return &v }

// ClientTokens remembers the answers to calls with client tokens, so that a repeated call does nothing twice. The
// zero value is ready to use.
type ClientTokens struct {
	answers map[string]any
	order   []string
}

// Before returns the answer to an earlier call with this token, nil for none.
func (c *ClientTokens) Before(token string) any { return c.answers[token] }

// Keep remembers the answer to a call with a token. An empty token is not remembered.
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
