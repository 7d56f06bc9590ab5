package lease

import (
	"math"
	"time"
)

const (
	// MaxHold is how long a message can be held in all: SQS ends every hold 12 hours after the receive.
	MaxHold = 12 * time.Hour
	// maxMargin bounds how long before the end of a hold the work is stopped.
	maxMargin = 5 * time.Second
	// maxRetryFactor bounds the back-off of a message that keeps failing, in multiples of its base: 15 minutes for 30
	// s.
	maxRetryFactor = 30
	// AwayRetry is the time between two tries to extend while nothing listens at the queue's endpoint. It bounds for
	// how long two workers can work on one message after the endpoint is back.
	AwayRetry = 250 * time.Millisecond
	// awayProof is how long it counts that nothing listened: time for several further tries.
	awayProof = 2 * time.Second
)

// Visibility is the hold on one received message, as a value without clock or I/O: when to extend it, to what, and when
// it counts as lost. All its instants lie on the safe side of the queue's own: a hold is counted from before the call
// that made it, although the queue counts from some time within. Make one with [Hold].
type Visibility struct {
	// Timeout is how long each receive and each extension holds the message, in whole seconds.
	Timeout  time.Duration
	received time.Time
	until    time.Time
	extendAt time.Time
	// alone is until when nobody else can have received the message, because nothing listened at the endpoint; zero if
	// something always did.
	alone time.Time
}

// Hold returns the hold on a message brought by a receive call that was begun at the instant begun and asked for the
// given timeout.
func Hold(begun time.Time, timeout time.Duration) Visibility {
	return Visibility{Timeout: timeout, received: begun}.Extended(begun, timeout)
}

// Extended returns v after an extension by the duration to, in a call begun at the instant begun, succeeded.
func (v Visibility) Extended(begun time.Time, to time.Duration) Visibility {
	v.until, v.alone = begun.Add(to), time.Time{}
	v.extendAt = begun.Add(min(to, v.Timeout) / 2)
	return v
}

// Failed returns v after an extension failed at the instant now: the next try comes a tenth of the timeout later, or
// much sooner once the timeout is over.
func (v Visibility) Failed(now time.Time) Visibility {
	v.extendAt = now.Add(v.Timeout / 10)
	if now.After(v.until) {
		v.extendAt = now.Add(min(AwayRetry, v.Timeout/10))
	}
	return v
}

// Away returns v after an extension found, at the instant now, that nothing listens at the queue's endpoint. No other
// worker can receive the message then, so the hold is kept for two more seconds, also beyond its timeout. The next try
// comes soon: when the endpoint is back, a message whose timeout is over can be received at once.
func (v Visibility) Away(now time.Time) Visibility {
	v.extendAt, v.alone = now.Add(min(AwayRetry, v.Timeout/10)), now.Add(awayProof)
	return v
}

// AloneUntil returns until when no other worker can have received the message, because nothing listened at the
// endpoint; zero when something always did.
func (v Visibility) AloneUntil() time.Time { return v.alone }

// Until returns when the queue makes the message visible to other workers, unless the hold is extended.
func (v Visibility) Until() time.Time { return v.until }

// LostAt returns when the hold counts as lost: a sixth of the timeout, at most five seconds, before its end. The work
// must be stopped then, so that it is over before another worker can see the message. While nothing listens at the
// endpoint, no other worker can, and the hold is not lost; see [Visibility.Away].
func (v Visibility) LostAt() time.Time {
	lost := v.until.Add(-v.margin())
	if v.alone.After(lost) {
		return v.alone
	}
	return lost
}

func (v Visibility) margin() time.Duration { return min(v.Timeout/6, maxMargin) }

// Patience returns how long one attempt to extend may take: short enough for a second one when the first hangs.
func (v Visibility) Patience() time.Duration { return max(v.margin(), time.Millisecond) }

// ExtendAt returns when to extend: at half of the timeout after the hold was last extended.
func (v Visibility) ExtendAt() time.Time { return v.extendAt }

// ExtendTo returns by how long to extend at the instant now, in whole seconds. It is false when extending would gain
// nothing, because the wall of [MaxHold] is near; the hold then ends at its present end.
func (v Visibility) ExtendTo(now time.Time) (time.Duration, bool) {
	// One second less than the queue allows, for its rounding: an extension beyond the wall is refused, not shortened.
	left := v.received.Add(MaxHold - time.Second).Sub(now)
	to := min(v.Timeout, left).Truncate(time.Second)
	return to, to > 0 && now.Add(to).After(v.until)
}

// GiveBack returns for how long a message that failed stays hidden when it is given back at the instant now: its
// back-off, in whole seconds, within what [MaxHold] leaves.
func (v Visibility) GiveBack(now time.Time, backoff time.Duration) time.Duration {
	left := v.received.Add(MaxHold - time.Second).Sub(now)
	seconds := time.Duration(math.Ceil(backoff.Seconds())) * time.Second
	return max(0, min(seconds, left.Truncate(time.Second)))
}

// Backoff returns how long a message that failed at its receiveCount-th receive stays hidden: base, doubled with each
// further receive, at most 30 times base. With the usual base of 30 s that is 30 s, 1 m, 2 m, 4 m, 8 m and then 15 m.
// An unknown count (below 1) counts as the first.
func Backoff(base time.Duration, receiveCount int) time.Duration {
	doublings := min(max(receiveCount, 1)-1, 5)
	return base * time.Duration(min(1<<doublings, maxRetryFactor))
}
