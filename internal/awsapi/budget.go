package awsapi

import (
	"context"
	"errors"
	"sync"
)

const (
	// retryCost is the cost of a retry, in successful calls.
	retryCost = 10
	// budgetTokens is the content of a full budget, ten retries, and its content at the start.
	budgetTokens = 10 * retryCost
)

// budget bounds retries to a tenth of the successful calls. Unlike the SDK's own it returns nothing for
// a retry that succeeded: the call was made. It implements [retry.RateLimiter].
type budget struct {
	mu     sync.Mutex
	tokens uint
}

// errNoRetries says that the budget is used up. The caller sees the error of the last attempt.
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

// AddTokens adds the reward of a successful call.
func (b *budget) AddTokens(n uint) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(budgetTokens, b.tokens+n)
	return nil
}
