package keys

import (
	"fmt"
	"strings"
)

// This file makes flags of a command from declarations, and writes values for another process, so that muster up can
// pass the workers of a fleet to muster work.

// Option is a key as an option of a command line: --time-limit for time_limit.
type Option struct {
	// Name is that of the key with hyphens. What describes it, as in the reference.
	Name, What string
	// Form is the form of its value. List means that the option may be repeated.
	Form Form
	List bool
	key  *row
}

// Options returns the keys that can be options, in their order.
func Options(keys []Key) []Option {
	var all []Option
	for _, k := range keys {
		if r := k.declared(); r.set != nil {
			all = append(all, Option{Name: strings.ReplaceAll(r.name, "_", "-"), What: r.what, Form: r.form,
				List: r.list, key: r})
		}
	}
	return all
}

// Set reads the value from the text of the option; one that may be repeated adds to those that are there.
func (o Option) Set(text string) error {
	if err := o.key.set(text); err != nil {
		return fmt.Errorf("found %s, allowed is a %s", Quote(text), o.Form)
	}
	return nil
}

// String renders the present value, empty for none.
func (o Option) String() string {
	switch v := o.key.get().(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, ",")
	default:
		return fmt.Sprint(v)
	}
}

// CheckOptions checks the values of the given options by the same rules as those of a text. The error is the first
// fault and names the option.
func CheckOptions(keys []Key, given func(name string) bool) error {
	s := NewSource("", nil)
	for _, o := range Options(keys) {
		if given(o.Name) {
			s.places[o.key.name] = place{1, 1}
		}
	}
	for _, o := range Options(keys) {
		if !given(o.Name) {
			continue
		}
		if o.key.check(s, o.key.name); len(s.faults) > 0 {
			return fmt.Errorf("--%s: %s", o.Name, s.faults[0].Message)
		}
	}
	return nil
}

// Written returns the values that are not zero, by their keys, as a text may state them: encoded as JSON it can be
// decoded again.
func Written(keys []Key) map[string]any {
	all := map[string]any{}
	for _, k := range keys {
		r := k.declared()
		if r.get == nil {
			continue
		}
		if v := r.get(); v != nil {
			all[r.name] = escaped(v)
		}
	}
	return all
}

// escaped doubles every dollar, so that no part of a value is taken for a variable when it is read again.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "$", "$$")
	case []string:
		all := make([]string, len(v))
		for i, text := range v {
			all[i] = strings.ReplaceAll(text, "$", "$$")
		}
		return all
	}
	return v
}

// Read decodes a text that was encoded from the result of [Written]. No defaults are filled in, and no variables exist.
func Read(name string, text []byte, keys []Key) error {
	s := NewSource(name, text)
	root, ok := s.Parse(text)
	if ok {
		Decode(s, func(string) (string, bool) { return "", false }, root, keys)
	}
	return s.Err()
}
