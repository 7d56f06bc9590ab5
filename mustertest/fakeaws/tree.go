package fakeaws

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file moves members between the wire and the model by reflection, so that an action needs no code of its own:
// the model's fields bear the names of the API's members. Names are matched without regard to case, because ECS
// writes them with a small first letter.

// tree holds the members of a request by name, in whatever protocol they came. A value is a tree, a []any, a string,
// a json.Number, a float64, an int64, a bool, a time.Time, or nil.
type tree map[string]any

// filler fills an input of the model from a tree.
type filler struct {
	ignored []string // paths of members that the model does not have
}

// fill sets a value of the model, or says what does not fit, with the path of the member. Nil leaves the value alone.
func (f *filler) fill(to reflect.Value, from any, path string) error {
	if from == nil {
		return nil
	}
	// A time is a structure to reflection, and a single value on every wire.
	if to.Type() == reflect.TypeFor[time.Time]() {
		t, err := instant(from)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		to.Set(reflect.ValueOf(t))
		return nil
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return f.fill(to.Elem(), from, path)
	case reflect.Struct:
		return f.fillStruct(to, from, path)
	case reflect.Slice:
		return f.fillSlice(to, from, path)
	case reflect.Map:
		return f.fillMap(to, from, path)
	}
	return scalar(to, from, path)
}

// fillStruct sets the fields of a structure, in the order of the names, so that errors and ignored members repeat.
func (f *filler) fillStruct(to reflect.Value, from any, path string) error {
	members, ok := from.(tree)
	if from == "" {
		ok = true // an empty structure of the Query protocol
	}
	if !ok {
		return fmt.Errorf("%s: a structure was expected", path)
	}
	// Fields of embedded structures count like the structure's own: the API has one flat list of members.
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(to.Type()) {
		if field.IsExported() && !field.Anonymous {
			fields[strings.ToLower(field.Name)] = field
		}
	}
	for _, name := range sortedKeys(members) {
		v, at := members[name], strings.TrimPrefix(path+"."+name, ".")
		field, known := fields[strings.ToLower(name)]
		if !known {
			f.ignored = append(f.ignored, at)
			continue
		}
		if err := f.fill(to.FieldByIndex(field.Index), v, at); err != nil {
			return err
		}
	}
	return nil
}

// fillSlice sets a list of the length that was sent.
func (f *filler) fillSlice(to reflect.Value, from any, path string) error {
	all, ok := from.([]any)
	if from == "" {
		ok = true // an empty list of the Query protocol
	}
	if !ok {
		return fmt.Errorf("%s: a list was expected", path)
	}
	to.Set(reflect.MakeSlice(to.Type(), len(all), len(all)))
	for k, v := range all {
		if err := f.fill(to.Index(k), v, path); err != nil {
			return err
		}
	}
	return nil
}

// fillMap sets a map with text as keys.
func (f *filler) fillMap(to reflect.Value, from any, path string) error {
	members, ok := from.(tree)
	if !ok {
		return fmt.Errorf("%s: a map was expected", path)
	}
	to.Set(reflect.MakeMap(to.Type()))
	for _, name := range sortedKeys(members) {
		x := reflect.New(to.Type().Elem()).Elem()
		if err := f.fill(x, members[name], path+"."+name); err != nil {
			return err
		}
		to.SetMapIndex(reflect.ValueOf(name), x)
	}
	return nil
}

// scalar sets a text, a number or a truth value. The Query protocol has only text, which stands for all of them.
// Whole numbers must fit into 32 bits, as the API's integers do.
func scalar(to reflect.Value, from any, path string) error {
	// json.Number is a text by its type and a number by its meaning.
	text, isText := from.(string)
	if n, ok := from.(json.Number); ok {
		text, isText = n.String(), false
	}
	var err error
	switch to.Kind() {
	case reflect.String:
		if !isText {
			return fmt.Errorf("%s: a string was expected, not %v", path, from)
		}
		to.SetString(text)
	case reflect.Bool:
		b, ok := from.(bool)
		if !ok {
			b, err = strconv.ParseBool(text)
		}
		to.SetBool(b)
	case reflect.Int:
		var n float64
		// Every integer of the modelled actions has 32 bits in the API.
		if n, err = number(from, text); err == nil && (n != math.Trunc(n) || math.Abs(n) > math.MaxInt32) {
			err = fmt.Errorf("%v is no whole number of 32 bits", n)
		}
		to.SetInt(int64(n))
	case reflect.Float64:
		var n float64
		n, err = number(from, text)
		to.SetFloat(n)
	default:
		err = fmt.Errorf("the model cannot take a %s", to.Kind())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// number returns a number, parsed from text if it came as text.
func number(from any, text string) (float64, error) {
	switch n := from.(type) {
	case float64:
		return n, nil
	case int64:
		return float64(n), nil
	}
	return strconv.ParseFloat(text, 64)
}

// instant returns a time that came as a time, as seconds since 1970 or as text of RFC 3339. Fractions are rounded to
// milliseconds, which is what the SDKs send.
func instant(from any) (time.Time, error) {
	switch t := from.(type) {
	case time.Time:
		return t.UTC(), nil
	case float64, int64, json.Number:
		seconds, err := number(t, fmt.Sprint(t))
		whole, part := math.Modf(seconds)
		return time.Unix(int64(whole), int64(math.Round(part*1e3))*1e6).UTC(), err
	case string:
		return time.Parse(time.RFC3339, t)
	}
	return time.Time{}, fmt.Errorf("a time was expected, not %v", from)
}

// field is one member of an answer. Its value is a []field, pairs, a []any, a string, an int64, a float64, a bool or
// a time.Time.
type field struct {
	name  string
	value any
}

// pairs are the entries of a map, sorted by key. Their names are data: no protocol changes the case of their letters.
type pairs []field

// render returns an answer of the model as members in the order of its fields, without absent ones. Empty texts,
// lists, maps and times and nil pointers are absent; the number 0 and false are not.
func render(v reflect.Value) any {
	if t, ok := v.Interface().(time.Time); ok {
		return t
	}
	switch v.Kind() {
	case reflect.Pointer:
		return render(v.Elem())
	case reflect.Struct:
		return renderStruct(v)
	case reflect.Slice:
		all := make([]any, v.Len())
		for k := range all {
			all[k] = render(v.Index(k))
		}
		return all
	case reflect.Map:
		var all pairs
		for _, k := range v.MapKeys() {
			all = append(all, field{k.String(), render(v.MapIndex(k))})
		}
		slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
		return all
	case reflect.Int:
		return v.Int()
	case reflect.Float64:
		return v.Float()
	case reflect.Bool:
		return v.Bool()
	}
	return v.String()
}

// renderStruct returns the members of a structure, with those of embedded structures in their place.
func renderStruct(v reflect.Value) []field {
	out := []field{}
	for k := range v.NumField() {
		x, f := v.Field(k), v.Type().Field(k)
		switch {
		case !f.IsExported():
		case f.Anonymous:
			out = append(out, renderStruct(x)...)
		case !absent(x):
			out = append(out, field{f.Name, render(x)})
		}
	}
	return out
}

// absent tells whether a value has no member in an answer.
func absent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil()
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		t, ok := v.Interface().(time.Time)
		return ok && t.IsZero()
	}
	return false
}

// text64 returns a blob as base64 text.
func text64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
