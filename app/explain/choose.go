package explain

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/internal/misuse"
)

// FleetOf returns the fleet in args, or the only fleet there is. Errors are about the request.
func FleetOf(fleets, args []string) (string, error) {
	switch {
	case len(args) == 1 && slices.Contains(fleets, args[0]):
		return args[0], nil
	case len(args) == 1:
		return "", misuse.Errorf("there is no fleet %q in the history; there is %s", args[0],
			misuse.Names(fleets, len(fleets)))
	case len(fleets) == 1:
		return fleets[0], nil
	}
	return "", misuse.Errorf("name a fleet; there is %s", misuse.Names(fleets, len(fleets)))
}

// Time parses a time of today, or a full time. An empty text is the zero time. Errors are about the setting at.
func Time(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	now := time.Now()
	// The date and the zone are those of this machine.
	at, err := time.ParseInLocation("2006-01-02 15:04:05", now.Format("2006-01-02 ")+text, time.Local)
	if err != nil {
		return at, misuse.Setting("at",
			"found %q, allowed is a time of today such as 12:03:10, or 2026-03-01T12:03:10Z",
			text)
	}
	return at, nil
}
