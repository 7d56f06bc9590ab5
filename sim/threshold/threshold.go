package threshold

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/sim/scoring"
)

// Threshold is a limit for one field of a result, as in "in_time_ratio>=0.99".
type Threshold struct {
	// Field is the name of the field in JSON.
	Field string

	op    string
	value float64
	text  string
}

// String returns the text that the threshold was read from.
func (t Threshold) String() string { return t.text }

// MissedError says that a result misses a threshold. The run itself did not fail.
type MissedError struct{ Err error }

// Error implements the interface error.
func (e *MissedError) Error() string { return e.Err.Error() }

// Unwrap returns the error that names the missed threshold.
func (e *MissedError) Unwrap() error { return e.Err }

// form matches a field, a comparison and a number.
var form = regexp.MustCompile(`^\s*([a-z0-9_]+)\s*(>=|<=|>|<)\s*([0-9.eE+-]+)\s*$`)

// OfResults reads thresholds for the fields of [scoring.Result].
func OfResults(texts []string) ([]Threshold, error) {
	return Parse(texts, Numbers(scoring.Result{}), "in_time_ratio>=0.99",
		"those of -o json with numbers, as in_time_ratio, p99_s, worker_seconds, ratio and cost")
}

// Parse reads thresholds for the given fields. Errors are about the setting threshold; they show the example, or list
// the names.
func Parse(texts []string, fields map[string]float64, example, names string) ([]Threshold, error) {
	var all []Threshold
	for _, text := range texts {
		m := form.FindStringSubmatch(text)
		if m == nil {
			return nil, misuse.Setting("threshold", "found %q, write FIELD>=NUMBER or FIELD<=NUMBER, as in %s", text,
				example)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if _, known := fields[m[1]]; !known || err != nil {
			return nil, misuse.Setting("threshold", "found %q, the fields are %s", text, names)
		}
		all = append(all, Threshold{Field: m[1], op: m[2], value: value, text: strings.TrimSpace(text)})
	}
	return all, nil
}

// Met tells whether v reaches the threshold.
func (t Threshold) Met(v float64) bool {
	switch t.op {
	case ">=":
		return v >= t.value
	case "<=":
		return v <= t.value
	case ">":
		return v > t.value
	}
	return v < t.value
}

// Numbers returns the numeric fields of a value by their JSON names. The value must encode as a JSON object.
func Numbers(r any) map[string]float64 {
	text, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	found := map[string]float64{}
	for name, v := range all {
		if n, ok := v.(float64); ok {
			found[name] = n
		}
	}
	return found
}

// Missed returns a [MissedError] about the first result that misses a threshold; nil when all results reach all of
// them.
func Missed(results []scoring.Result, thresholds []Threshold) error {
	for _, r := range results {
		found := Numbers(r)
		for _, x := range thresholds {
			if v := found[x.Field]; !x.Met(v) {
				return &MissedError{fmt.Errorf("%s on %s, seed %d: %s is missed, found %g", r.Policy, r.Trace, r.Seed,
					x.text, v)}
			}
		}
	}
	return nil
}
