package lease

import (
	"math"
	"time"
)

const (
	// MaxHold is the longest time in flight: SQS ends every visibility timeout 12 hours after the receive.
	MaxHold = 12 * time.Hour
	// maxMargin bounds how long before the end of a visibility timeout the work is stopped.
	maxMargin = 5 * time.Second
	// maxRetryFactor bounds the back-off of a message that keeps failing, in multiples of its base: 15 minutes for 30
	// s.
	maxRetryFactor = 30
	// AwayRetry is the interval between tries to extend while nothing listens at the queue's endpoint. Once the
	// endpoint is back, two workers may work on a message for at most that long.
	AwayRetry = 250 * time.Millisecond
	// awayProof is how long a refused connection proves that no other worker can receive: several further tries.
	awayProof = 2 * time.Second
)

// Visibility is the lease on one received message, as a value without clock or I/O: when to extend it, to what, and
// when it counts as lost. Its times err on the safe side of the queue's own: a timeout counts from before the call that
// set it. Make one with [Hold].
type Visibility struct {
	// Timeout is the visibility timeout of each receive and each extension, in whole seconds.
	Timeout  time.Duration
	received time.Time
	until    time.Time
	extendAt time.Time
	// alone is until when no other worker can have received the message, because nothing listened at the endpoint; zero
	// if something always did.
	alone time.Time
}

// Hold returns the lease on a message from a receive call that began at begun and requested the given timeout.
func Hold(begun time.Time, timeout time.Duration) Visibility {
	return Visibility{Timeout: timeout, received: begun}.Extended(begun, timeout)
}

// Extended returns v after a successful extension to the timeout to, in a call that began at begun.
func (v Visibility) Extended(begun time.Time, to time.Duration) Visibility {
	v.until, v.alone = begun.Add(to), time.Time{}
	v.extendAt = begun.Add(min(to, v.Timeout) / 2)
	return v
}

// Failed returns v after a failed extension. The next try comes a tenth of the timeout later, or much sooner once the
// timeout is over.
func (v Visibility) Failed(now time.Time) Visibility {
	v.extendAt = now.Add(v.Timeout / 10)
	if now.After(v.until) {
		v.extendAt = now.Add(min(AwayRetry, v.Timeout/10))
	}
	return v
}

// Away returns v after an extension found that nothing listens at the queue's endpoint. No other worker can receive the
// message then, so the lease lasts two more seconds, even beyond its timeout. The next try comes soon, because another
// worker may receive the message as soon as the endpoint is back.
func (v Visibility) Away(now time.Time) Visibility {
	v.extendAt, v.alone = now.Add(min(AwayRetry, v.Timeout/10)), now.Add(awayProof)
	return v
}

// AloneUntil returns until when no other worker can have received the message, because nothing listened at the
// endpoint; zero if something always did.
func (v Visibility) AloneUntil() time.Time { return v.alone }

// Until returns when the message becomes visible to other workers, unless the lease is extended.
func (v Visibility) Until() time.Time { return v.until }

// LostAt returns when the lease counts as lost: a sixth of the timeout, at most five seconds, before its end. The work
// must stop then, so that it is over before another worker can receive the message. While nothing listens at the
// endpoint, no other worker can, and the lease is not lost; see [Visibility.Away].
func (v Visibility) LostAt() time.Time {
	lost := v.until.Add(-v.margin())
	if v.alone.After(lost) {
		return v.alone
	}
	return lost
}

func (v Visibility) margin() time.Duration { return min(v.Timeout/6, maxMargin) }

// Patience returns how long one try to extend may take: short enough for a second one if the first hangs.
func (v Visibility) Patience() time.Duration { return max(v.margin(), time.Millisecond) }

// ExtendAt returns when to extend: half a timeout after the last extension.
func (v Visibility) ExtendAt() time.Time { return v.extendAt }

// ExtendTo returns the timeout of an extension at now, in whole seconds. It is false when an extension would gain
// nothing, because [MaxHold] is near.
func (v Visibility) ExtendTo(now time.Time) (time.Duration, bool) {
	// One second less than the queue allows, because of rounding: it refuses a longer extension and does not shorten
	// it.
	left := v.received.Add(MaxHold - time.Second).Sub(now)
	to := min(v.Timeout, left).Truncate(time.Second)
	return to, to > 0 && now.Add(to).After(v.until)
}

// GiveBack returns for how long to hide a message that failed at now: its back-off, in whole seconds, within [MaxHold].
func (v Visibility) GiveBack(now time.Time, backoff time.Duration) time.Duration {
	left := v.received.Add(MaxHold - time.Second).Sub(now)
	seconds := time.Duration(math.Ceil(backoff.Seconds())) * time.Second
	return max(0, min(seconds, left.Truncate(time.Second)))
}

// Backoff returns how long a message stays hidden after it failed at its receiveCount-th receive: base, doubled with
// each further receive, at most 30 times base. With a base of 30 s that is 30 s, 1 m, 2 m, 4 m, 8 m and then 15 m. An
// unknown count (below 1) counts as the first.
func Backoff(base time.Duration, receiveCount int) time.Duration {
	doublings := min(max(receiveCount, 1)-1, 5)
	return base * time.Duration(min(1<<doublings, maxRetryFactor))
}
