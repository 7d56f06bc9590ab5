package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
)

// This file has the bounds and checks that all histories share, so that all refuse the same calls with the same errors.

// The bounds of one append and one read.
const (
	// MaxBody and MaxShared bound a record's Body and Shared, in bytes.
	MaxBody   = 1 << 20
	MaxShared = 1 << 20
	// MaxBatch bounds the number of records in one append, MaxLast the number that Last returns.
	MaxBatch = 50_000
	MaxLast  = 10000
	// MaxName bounds the name of a fleet and of a kind, in bytes.
	MaxName = 128
)

// ErrNoRecord means that no record has the given sequence number: it was never written, or was removed.
var ErrNoRecord = errors.New("no such record")

// ErrFull means that there is no room for more records. Nothing was written. Prune, a larger bound or more disk space
// make room.
var ErrFull = errors.New("the history is full")

// CheckFleet checks the name of a fleet.
func CheckFleet(fleet string) error {
	if fleet == "" || len(fleet) > MaxName {
		return fmt.Errorf("history of fleet %.40q: found a name of %d bytes, allowed are 1 to %d", fleet, len(fleet),
			MaxName)
	}
	return nil
}

// CheckAppend checks all records before the first is written, because an append is all or none.
func CheckAppend(fleet string, records []muster.Record) error {
	if err := CheckFleet(fleet); err != nil {
		return err
	}
	if len(records) > MaxBatch {
		return fmt.Errorf("append to fleet %q: found %d records, at most %d are allowed at once", fleet, len(records),
			MaxBatch)
	}
	for i, r := range records {
		if err := checkRecord(r); err != nil {
			return fmt.Errorf("append to fleet %q: record %d of %d: %w", fleet, i+1, len(records), err)
		}
	}
	return nil
}

// checkRecord checks one record. Instants are stored as nanoseconds since 1970 in 64 bits, which end in 2262.
func checkRecord(r muster.Record) error {
	switch {
	case r.Kind == "" || len(r.Kind) > MaxName:
		return fmt.Errorf("found a kind of %d bytes, allowed are 1 to %d", len(r.Kind), MaxName)
	case r.At.Year() < 1970 || r.At.Year() > 2261:
		return fmt.Errorf("found the instant %s, allowed are the years 1970 to 2261", r.At.Format(time.RFC3339))
	case len(r.Body) > MaxBody:
		return fmt.Errorf("found a body of %d bytes, at most %d are allowed", len(r.Body), MaxBody)
	case len(r.Shared) > MaxShared:
		return fmt.Errorf("found shared content of %d bytes, at most %d are allowed", len(r.Shared), MaxShared)
	case len(r.Body) > 0 && !json.Valid(r.Body):
		return errors.New("found a body that is not JSON")
	case len(r.Shared) > 0 && !json.Valid(r.Shared):
		return errors.New("found shared content that is not JSON")
	}
	return nil
}

// CheckLast checks the number of records to read, from the newest on.
func CheckLast(n int) error {
	if n < 1 || n > MaxLast {
		return fmt.Errorf("read the last records: found %d, allowed are 1 to %d", n, MaxLast)
	}
	return nil
}

// NoRecord is the error for a sequence number without a record.
func NoRecord(fleet string, seq int64) error {
	return fmt.Errorf("read record %d of fleet %q: %w", seq, fleet, ErrNoRecord)
}

// Conflict is the error of an append that does not continue the stream: another controller has begun or appended since.
func Conflict(fleet string, after, found muster.Position) error {
	return fmt.Errorf("append to fleet %q after epoch %d, sequence %d: found the stream at epoch %d, sequence %d: %w",
		fleet, after.Epoch, after.Seq, found.Epoch, found.Seq, muster.ErrConflict)
}

// Instant converts stored nanoseconds to a time in UTC.
func Instant(nanoseconds int64) time.Time { return time.Unix(0, nanoseconds).UTC() }

// Nanoseconds converts t to the stored form. Times outside of the range become its nearest end, because a time to read
// from may be the zero time.
func Nanoseconds(t time.Time) int64 {
	switch {
	case t.Year() < 1970:
		return 0
	case t.Year() > 2261:
		return time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	return t.UnixNano()
}
