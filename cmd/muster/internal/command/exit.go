package command

import (
	"errors"
	"fmt"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/threshold"
)

// The exit codes, the same for every command. Scripts depend on them, so a new meaning needs a new number. ExitUsage
// means that the same command line fails again until the user changes it or the configuration. ExitChanges is for plan
// --detailed-exitcode. ExitThreshold is for a limit that the user stated: --threshold, or --timeout of tree watch.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitChanges   = 3
	ExitThreshold = 4
)

// Exit is an error with an exit code. An Exit without Err ends the command with the code and prints nothing: the
// command has printed its result already.
type Exit struct {
	Code int
	Err  error
}

// Error is the text of Err; empty without one.
func (e *Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Exit) Unwrap() error { return e.Err }

// Usage marks an error as wrong usage or a wrong configuration: exit code 2. It returns nil for nil, so that it can
// wrap a call.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &Exit{ExitUsage, err}
}

// ExitOf adds the exit code to the error of a command. An error that already has a code keeps it. Packages below cmd
// know no exit codes: they return a [misuse.Error] for a wrong request and a [threshold.MissedError] for a missed
// limit. Anything else failed.
func ExitOf(err error) *Exit {
	if coded, ok := errors.AsType[*Exit](err); ok {
		return coded
	}
	if _, missed := errors.AsType[*threshold.MissedError](err); missed {
		return &Exit{ExitThreshold, err}
	}
	wrong, ok := errors.AsType[*misuse.Error](err)
	switch {
	case !ok:
		return &Exit{ExitFailed, err}
	case wrong.Setting != "" && err.Error() == wrong.Error():
		return &Exit{ExitUsage, fmt.Errorf("--%w", err)} // a setting is a flag here
	}
	return &Exit{ExitUsage, err}
}
