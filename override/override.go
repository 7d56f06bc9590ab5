package override

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-scale/muster/internal/render"
)

// Kind is what an override does.
type Kind string

// The kinds.
const (
	// Reserve keeps at least Workers in service.
	Reserve Kind = "reserve"
	// Pause holds the size.
	Pause Kind = "pause"
	// Limits narrows the limits of the configuration to Min and Max.
	Limits Kind = "limits"
	// HoldScaleIn holds every decrease.
	HoldScaleIn Kind = "hold-scale-in"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Reserve, Pause, Limits, HoldScaleIn} }

// The bounds of overrides.
const (
	// Most is how many overrides a fleet has at once.
	Most = 16
	// Longest is how far ahead an override may end.
	Longest = 30 * 24 * time.Hour
	// MaxWorkers bounds the numbers of workers in an override.
	MaxWorkers = 100_000
	// MaxReasonBytes, MaxByBytes and MaxIDBytes bound the texts.
	MaxReasonBytes = 200
	MaxByBytes     = 100
	MaxIDBytes     = 64
)

// The errors of instructions. An error matches one of them, and its text says what was found and what is allowed.
var (
	// ErrInvalid is an override outside of its bounds.
	ErrInvalid = errors.New("the override is invalid")
	// ErrRefused is a valid override that the fleet cannot take: it has too many, or nothing can be granted.
	ErrRefused = errors.New("the override is refused")
	// ErrUnknown is an id that no override has, or the name of no member.
	ErrUnknown = errors.New("not found")
)

// Override is one time-limited instruction. Slices and pointers in it are never changed.
type Override struct {
	// ID names the override within its fleet: lower-case letters, digits and hyphens.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Workers is the size that a reservation asks for, 1 to [MaxWorkers].
	Workers int `json:"workers,omitzero"`
	// Min and Max are the limits of kind Limits; nil leaves that of the configuration.
	Min *int `json:"min,omitzero"`
	Max *int `json:"max,omitzero"`
	// Reason says why, By who asked; both may be empty.
	Reason string `json:"reason,omitzero"`
	By     string `json:"by,omitzero"`
	// AskedAt is when it was accepted. It acts from Begin until just before End; a reservation launches earlier.
	AskedAt time.Time `json:"asked_at"`
	Begin   time.Time `json:"begin"`
	End     time.Time `json:"end"`
	// Grant is what a reservation got; nil for other kinds.
	Grant *Grant `json:"grant,omitzero"`
	// Over says how the override ended: [Cancelled], [UsedUp] or [Ended]. It is empty until then.
	Over Event `json:"over,omitzero"`
}

// ActiveAt tells whether at is between Begin and End.
func (o Override) ActiveAt(at time.Time) bool { return !at.Before(o.Begin) && at.Before(o.End) }

// Granted is how many workers a reservation holds; 0 for other kinds.
func (o Override) Granted() int {
	if o.Kind != Reserve || o.Grant == nil {
		return 0
	}
	return o.Grant.Workers
}

// Check returns what is wrong with an override that is asked for at a time. The error matches [ErrInvalid].
func (o Override) Check(at time.Time) error {
	numbers := o.Min != nil || o.Max != nil
	switch {
	case o.Kind == Reserve && (o.Workers < 1 || o.Workers > MaxWorkers):
		return invalid("workers: found %d, allowed is 1 to %d", o.Workers, MaxWorkers)
	case o.Kind != Reserve && o.Workers != 0:
		return invalid("workers: found %d for %s, only reserve has workers", o.Workers, o.Kind)
	case o.Kind == Limits && !numbers:
		return invalid("found limits without min and max, give one of them or both")
	case o.Kind != Limits && numbers:
		return invalid("found min or max for %s, only limits has them", o.Kind)
	case o.ID != "" && !validID(o.ID):
		return invalid("id: found %.80q, allowed are 1 to %d lower-case letters, digits and hyphens", o.ID, MaxIDBytes)
	case !o.Begin.Before(o.End):
		return invalid("found an end at %s that is not after the begin at %s", stamp(o.End), stamp(o.Begin))
	case !at.Before(o.End):
		return invalid("end: found %s, which is past", stamp(o.End))
	case o.End.Sub(at) > Longest:
		return invalid("end: found %s, allowed is at most %d days from now", stamp(o.End), int(Longest.Hours()/24))
	}
	for _, n := range []struct {
		name string
		n    *int
	}{{"min", o.Min}, {"max", o.Max}} {
		if n.n != nil && (*n.n < 0 || *n.n > MaxWorkers) {
			return invalid("%s: found %d, allowed is 0 to %d", n.name, *n.n, MaxWorkers)
		}
	}
	if o.Min != nil && o.Max != nil && *o.Min > *o.Max {
		return invalid("found min %d above max %d", *o.Min, *o.Max)
	}
	if err := CheckTexts(o.Reason, o.By); err != nil {
		return err
	}
	switch o.Kind {
	case Reserve, Pause, Limits, HoldScaleIn:
		return nil
	}
	return invalid("kind: found %.40q, allowed are reserve, pause, limits and hold-scale-in", string(o.Kind))
}

// CheckTexts checks why an operator asks for something, and who asks. The error matches [ErrInvalid].
func CheckTexts(reason, by string) error {
	for _, t := range []struct {
		name, text string
		most       int
	}{{"reason", reason, MaxReasonBytes}, {"by", by, MaxByBytes}} {
		if len(t.text) > t.most || !printable(t.text) {
			return invalid("%s: found %d bytes, allowed are at most %d bytes of printable text", t.name, len(t.text),
				t.most)
		}
	}
	return nil
}

// invalid returns an error that matches [ErrInvalid].
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// validID tells whether a text is an id.
func validID(id string) bool {
	return len(id) <= MaxIDBytes && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// printable tells whether a text is UTF-8 without control characters, so that it cannot disturb a terminal or a log.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Text says what the override does until when and why, as seen at a time: "max 20 until 15:00 UTC (a slow database)".
func (o Override) Text(at time.Time) string {
	text, until := "", " until "+Clock(at, o.End)
	switch o.Kind {
	case Reserve:
		text = "reserved: " + render.Plural(o.Workers, "worker")
		if n := o.Granted(); n < o.Workers {
			text = fmt.Sprintf("reserved: %d of %s", n, render.Plural(o.Workers, "worker"))
		}
	case Pause:
		text = "paused"
	case HoldScaleIn:
		text = "scale-in is held"
	case Limits:
		var parts []string
		if o.Min != nil {
			parts = append(parts, fmt.Sprintf("min %d", *o.Min))
		}
		if o.Max != nil {
			parts = append(parts, fmt.Sprintf("max %d", *o.Max))
		}
		text = strings.Join(parts, " and ")
	}
	if o.Begin.After(at) {
		text += " from " + Clock(at, o.Begin)
	}
	if o.Over == "" {
		text += until
	}
	if o.Reason != "" {
		text += " (" + o.Reason + ")"
	}
	if o.Over != "" {
		text += fmt.Sprintf("; it %s at %s", o.Over.text(), Clock(at, o.End))
	}
	return text
}

// Clock writes the time t for a reader at the time at: with its date on another day, and with seconds only where they
// are not 0.
func Clock(at, t time.Time) string {
	at, t = at.UTC(), t.UTC()
	layout := "15:04"
	if t.Second() != 0 {
		layout = "15:04:05"
	}
	if at.Format(time.DateOnly) != t.Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return t.Format(layout) + " UTC"
}

// stamp writes a time in an error.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
