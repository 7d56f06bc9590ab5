package machine

import (
	"errors"
	"time"
)

const (
	// MaxVisibility is the longest time, counted from its receive, for which a message may stay in flight.
	MaxVisibility = 12 * time.Hour
	// MaxInFlight is the largest number of messages in flight per queue.
	MaxInFlight = 120_000
)

// The errors of the machine. The caller turns them into refusals of the protocol.
var (
	// ErrExpiredHandle says that the handle of a FIFO message is no longer valid: its timeout ended or the message
	// was received again.
	ErrExpiredHandle = errors.New("receipt handle has expired")
	// ErrMessageGone says that the message whose visibility should change does not exist.
	ErrMessageGone = errors.New("message is gone")
	// ErrTooLong says that a message would be in flight for longer than MaxVisibility.
	ErrTooLong = errors.New("total visibility timeout is too long")
	// ErrCorrupt says that a store holds impossible data.
	ErrCorrupt = errors.New("queue file is damaged")
)
