package machine

import (
	"errors"
	"time"
)

const (
	// MaxVisibility is the longest time, counted from its receive, that a message may stay in flight.
	MaxVisibility = 12 * time.Hour
	// MaxInFlight is the largest number of messages in flight per queue.
	MaxInFlight = 120_000
)

// The errors of the machine. What a request is told is up to the caller.
var (
	// ErrExpiredHandle says that a FIFO message is no longer held by the handle.
	ErrExpiredHandle = errors.New("receipt handle has expired")
	// ErrMessageGone says that there is no message whose visibility could be changed.
	ErrMessageGone = errors.New("message is gone")
	// ErrTooLong says that a message would be in flight for longer than maxVisibility.
	ErrTooLong = errors.New("total visibility timeout is too long")
	// ErrCorrupt says that what a store holds cannot be.
	ErrCorrupt = errors.New("queue file is damaged")
)
