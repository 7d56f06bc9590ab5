package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config"
)

// failure is the error of a command as it is printed on standard error with -o json. The fields are documented and
// tested (testdata/computing/errors_json.txt).
type failure struct {
	Error string `json:"error"`
	// Code is the exit code.
	Code int `json:"code"`
	// Faults are the faults of the configuration, if that is the problem.
	Faults []config.Fault `json:"faults,omitzero"`
}

// PrintFailure prints why a command failed, unless it has printed that already.
func PrintFailure(errOut io.Writer, coded *Exit, asJSON bool) {
	faults, isFaults := errors.AsType[config.Faults](coded)
	switch {
	// The command has printed its result, and only the exit code is left to say.
	case coded.Error() == "":
	case asJSON:
		PrintJSON(errOut, failure{Error: coded.Error(), Code: coded.Code, Faults: faults})
	case isFaults: // each begins with its file, line and column, so that editors can jump there
		fmt.Fprintln(errOut, coded)
	default:
		fmt.Fprintln(errOut, "muster: "+coded.Error())
	}
}

// WantsJSON tells whether the arguments ask for JSON. It reads them itself: when the flags are wrong, cobra stops at
// the first fault, and -o json may come after it. The last -o counts, and nothing after -- does, because that is a
// command of the user.
func WantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	wants := false
	for i, a := range args {
		value, ok := "", true
		switch {
		case (a == "-o" || a == "--output") && i+1 < len(args):
			value = args[i+1]
		case strings.HasPrefix(a, "--output="):
			value = strings.TrimPrefix(a, "--output=")
		case strings.HasPrefix(a, "-o"):
			value = strings.TrimPrefix(strings.TrimPrefix(a, "-o"), "=")
		default:
			ok = false
		}
		if ok {
			wants = value == "json"
		}
	}
	return wants
}
