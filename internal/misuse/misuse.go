// Package misuse marks errors about the request itself: a value out of its range, an unknown name.
// Packages behind the commands return such errors, and cmd/muster then exits with the code for wrong
// usage (2).
//
//	return misuse.Setting("slots", "found %d, allowed are 1 to %d", n, most)
//
// An error about something that failed while a request was carried out is not marked: use plain errors
// for it. Faults of the configuration file are config.Faults.
package misuse

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error about the request. Find it with errors.As or [Is].
type Error struct {
	// Setting is the name of the setting with the wrong value, such as "slots"; empty if it is no
	// setting. The command line has a flag of that name.
	Setting string
	// Err says what was found and what is allowed. It is never nil.
	Err error
}

// Error implements the interface error. It begins with the setting, if there is one.
func (e *Error) Error() string {
	if e.Setting == "" {
		return e.Err.Error()
	}
	return e.Setting + ": " + e.Err.Error()
}

// Unwrap returns the error without the setting.
func (e *Error) Unwrap() error { return e.Err }

// Wrap marks err as an error about the request; nil stays nil.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Err: err}
}

// Errorf is [fmt.Errorf] for an error about the request.
func Errorf(format string, args ...any) error { return &Error{Err: fmt.Errorf(format, args...)} }

// Setting is [Errorf] for a wrong value of the named setting.
func Setting(name, format string, args ...any) error {
	return &Error{Setting: name, Err: fmt.Errorf(format, args...)}
}

// Is says whether err is, or wraps, an error about the request.
func Is(err error) bool {
	_, found := errors.AsType[*Error](err)
	return found
}

// Names joins names for an error that lists the allowed ones: at most most of them, and the number of
// the others.
func Names(names []string, most int) string {
	if len(names) == 0 {
		return "none yet"
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
