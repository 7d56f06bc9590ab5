package awsapi

import (
	"context"
	"errors"
	"sync"
)

const (
	// retryCost is what a retry takes from the budget, in successful calls.
	retryCost = 10
	// budgetTokens is what the budget holds at most, and at the start: ten retries.
	budgetTokens = 10 * retryCost
)

// budget bounds retries to a tenth of the calls that succeed. Unlike the SDK's own it gives nothing back for a retry
// that succeeded: what was sent was sent. It implements [retry.RateLimiter].
type budget struct {
	mu     sync.Mutex
	tokens uint
}

// errNoRetries means that the budget is used up: the error of the attempt before is the answer.
var errNoRetries = errors.New("the budget of retries, a tenth of the calls, is used up")

func newBudget() *budget { return &budget{tokens: budgetTokens} }

// GetToken takes the cost of a retry, or fails.
func (b *budget) GetToken(ctx context.Context, cost uint) (func() error, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < cost {
		return nil, errNoRetries
	}
	b.tokens -= cost
	return func() error { return nil }, ctx.Err()
}

// AddTokens gives back what a successful call earns.
func (b *budget) AddTokens(n uint) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(budgetTokens, b.tokens+n)
	return nil
}
