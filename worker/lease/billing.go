package lease

import (
	"fmt"
	"time"
)

const (
	// MinBillingPeriod is the shortest Billing.Period.
	MinBillingPeriod = time.Minute
	// MaxBillingPeriod is the longest.
	MaxBillingPeriod = 31 * 24 * time.Hour
	// usualBillingMargin is the usual Billing.Margin, where the period is long enough for it.
	usualBillingMargin = 2 * time.Minute
)

// Billing says in which periods a worker's member is paid for: a period that has begun is paid in full. The zero
// Billing is for a member that is paid by the second.
type Billing struct {
	// Start is when the first period began, by the wall clock.
	Start time.Time
	// Period is the length of each; 0 means that there are none.
	Period time.Duration
	// Margin is how long before the end of a period an idle member becomes ready to stop: at most half a period.
	Margin time.Duration
}

// ends returns the end of the period that contains now.
func (b Billing) ends(now time.Time) time.Time {
	since := now.Round(0).Sub(b.Start)
	n := since / b.Period
	if since < 0 && since%b.Period != 0 {
		n-- // before the first one
	}
	return b.Start.Add((n + 1) * b.Period)
}

// offerAt returns when an idle member becomes ready to stop: within the margin of this period, or of the next if it did
// so already for the period that ended at offered. ok is false when the member is not paid by periods.
func (b Billing) offerAt(now, offered time.Time) (at, end time.Time, ok bool) {
	if b.Period <= 0 {
		return at, end, false
	}
	end = b.ends(now)
	if !end.After(offered) {
		end = end.Add(b.Period)
	}
	return end.Add(-b.Margin), end, true
}

// WithDefaults returns b with defaults: the first period begins now, and the margin is two minutes or half a period.
func (b Billing) WithDefaults(now time.Time) Billing {
	if b.Start.IsZero() {
		b.Start = now
	}
	b.Start = b.Start.Round(0)
	if b.Margin == 0 {
		b.Margin = min(usualBillingMargin, b.Period/2)
	}
	return b
}

// Check returns an error if b, with its defaults, is not allowed.
func (b Billing) Check() error {
	switch {
	case b.Period == 0:
		return nil
	case b.Period < MinBillingPeriod || b.Period > MaxBillingPeriod:
		return fmt.Errorf("start a worker: found a billing period of %s, %s to %s are allowed, or 0 for none", b.Period,
			MinBillingPeriod, MaxBillingPeriod)
	case b.Margin < time.Second || b.Margin > b.Period/2:
		return fmt.Errorf("start a worker: found a billing margin of %s, 1s to half the period of %s are allowed",
			b.Margin, b.Period)
	}
	return nil
}
