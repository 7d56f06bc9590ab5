package keys

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// This file has the declarations: their common part, and one constructor for each form of value. Methods that add a
// default or a check return the declaration itself, so that they can be chained.

// Form is the form of a value, in the words of the reference.
type Form string

// The forms.
const (
	TextForm     Form = "text"
	WholeForm    Form = "whole number"
	NumberForm   Form = "number"
	DurationForm Form = "duration"
	TruthForm    Form = "true or false"
	MappingForm  Form = "mapping"
	// NamedForm is a name, or a mapping.
	NamedForm Form = "name or mapping"
	// ShareForm is a whole number, or a percentage.
	ShareForm Form = "number or percentage"
	// CommandForm is a program with its arguments, or the program alone.
	CommandForm Form = "command"
)

// Key declares one key of a mapping: its decoding, its default, its allowed values, and its text in the schema and the
// reference.
type Key interface{ declared() *row }

// row is the common part of all declarations.
type row struct {
	name, what string
	form       Form
	list       bool         // a list of the form
	required   bool         // in the schema
	late       bool         // after the other keys of its mapping
	enum       []string     // the only allowed texts; nil for any
	of         func() []Key // the keys of a mapping; nil for a single value
	decode     func(d *Decoder, n *yaml.Node, path string)
	// get returns the value as it is written, nil for none; set reads one from a text. Both are nil where a value is no
	// option.
	get func() any
	set func(text string) error
	// within returns the mappings of a value at a path, bound to it; nil for a single value.
	within func(path string) []bound
	// implied is what holds where the text states no value and get is nil; empty for nothing.
	implied string
	fills   []func(s *Source, path string)
	checks  []func(s *Source, path string)
}

func (r *row) declared() *row { return r }

func (r *row) fill(s *Source, path string) {
	for _, f := range r.fills {
		f(s, path)
	}
}

func (r *row) check(s *Source, path string) {
	for _, f := range r.checks {
		f(s, path)
	}
}

// Value declares a key with a single value.
type Value[T cmp.Ordered] struct {
	row
	into *T
	show func(T) string
}

// value declares a single value. decode reads it from a node, show writes it for a message, and read reads it from the
// text of an option.
func value[T cmp.Ordered](name string, into *T, form Form, what string,
	decode func(*Decoder, *yaml.Node, string) (T, bool), show func(T) string, read func(string) (T, error),
) *Value[T] {
	v := &Value[T]{row: row{name: name, what: what, form: form}, into: into, show: show}
	v.decode = func(d *Decoder, n *yaml.Node, path string) {
		if found, ok := decode(d, n, path); ok {
			*into = found
		}
	}
	v.get = func() any {
		var zero T
		if *into == zero {
			return nil
		}
		if d, ok := any(*into).(time.Duration); ok {
			return Span(d)
		}
		return *into
	}
	v.set = func(text string) error {
		found, err := read(text)
		if err == nil {
			*into = found
		}
		return err
	}
	return v
}

// Text declares a text.
func Text(name string, into *string, what string) *Value[string] {
	decode := func(d *Decoder, n *yaml.Node, path string) (string, bool) { return d.Text(n, path), true }
	return value(name, into, TextForm, what, decode, Quote, func(text string) (string, error) { return text, nil })
}

// Whole declares a whole number.
func Whole(name string, into *int, what string) *Value[int] {
	return value(name, into, WholeForm, what, (*Decoder).whole, strconv.Itoa, strconv.Atoi)
}

// Number declares a number that is finite.
func Number(name string, into *float64, what string) *Value[float64] {
	show := func(v float64) string { return fmt.Sprintf("%g", v) }
	read := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	return value(name, into, NumberForm, what, (*Decoder).number, show, read)
}

// Duration declares a duration with its unit.
func Duration(name string, into *time.Duration, what string) *Value[time.Duration] {
	return value(name, into, DurationForm, what, (*Decoder).duration, Span, time.ParseDuration)
}

// Required marks the key as required in the schema. A check must still report that it is missing, because only it knows
// when.
func (v *Value[T]) Required() *Value[T] {
	v.required = true
	return v
}

// Default is the value where the text states none. A stated zero stays.
func (v *Value[T]) Default(otherwise T) *Value[T] {
	return v.DefaultOf(func() T { return otherwise })
}

// DefaultOf is [Value.Default] with a value that depends on other keys. otherwise is called after the whole text was
// decoded, and after the keys that were declared before this one got their defaults.
func (v *Value[T]) DefaultOf(otherwise func() T) *Value[T] {
	v.fills = append(v.fills, func(s *Source, path string) {
		if !s.Has(path) {
			*v.into = otherwise()
		}
	})
	return v
}

// Within allows values from least to most.
func (v *Value[T]) Within(least, most T) *Value[T] {
	v.checks = append(v.checks, func(s *Source, path string) { Within(s, path, *v.into, least, most, v.show) })
	return v
}

// Stated is [Value.Within] for a value that the text states; an absent one is allowed.
func (v *Value[T]) Stated(least, most T) *Value[T] {
	v.checks = append(v.checks, func(s *Source, path string) {
		if s.Has(path) {
			Within(s, path, *v.into, least, most, v.show)
		}
	})
	return v
}

// OneOf allows only the given values. An absent value without a default is allowed.
func (v *Value[T]) OneOf(allowed ...T) *Value[T] {
	for _, one := range allowed {
		if text, ok := any(one).(string); ok {
			v.enum = append(v.enum, text)
		}
	}
	v.checks = append(v.checks, func(s *Source, path string) {
		var zero T
		if !s.Has(path) && *v.into == zero || slices.Contains(allowed, *v.into) {
			return
		}
		var words []string
		for _, one := range allowed {
			words = append(words, strings.Trim(v.show(one), `"`))
		}
		text, _ := any(*v.into).(string)
		s.Fault(path, "found "+v.show(*v.into)+", allowed are "+strings.Join(words, ", "), Suggest(text, v.enum))
	})
	return v
}

// Check adds a check of the value. f adds its faults at path.
func (v *Value[T]) Check(f func(s *Source, path string, v T)) *Value[T] {
	v.checks = append(v.checks, func(s *Source, path string) { f(s, path, *v.into) })
	return v
}

// Must refuses a value for which right is false, also the value of an absent key. allowed completes the message.
func (v *Value[T]) Must(allowed string, right func(T) bool) *Value[T] {
	return v.Check(func(s *Source, path string, value T) {
		if !right(value) {
			s.Fault(path, s.Missing(path, v.show(value), allowed), "")
		}
	})
}

// May refuses a stated value for which right is false. allowed completes the message.
func (v *Value[T]) May(allowed string, right func(T) bool) *Value[T] {
	return v.Check(func(s *Source, path string, value T) {
		if s.Has(path) && !right(value) {
			s.Fault(path, "found "+v.show(value)+", allowed is "+allowed, "")
		}
	})
}

// Flag declares a key that is true or false.
type Flag struct {
	row
	into *bool
}

// Truth declares a key that is true or false.
func Truth(name string, into *bool, what string) *Flag {
	f := &Flag{row: row{name: name, what: what, form: TruthForm}, into: into}
	f.decode = func(d *Decoder, n *yaml.Node, path string) {
		if v, ok := d.truth(n, path); ok {
			*into = v
		}
	}
	f.get = func() any {
		if !*into {
			return nil
		}
		return true
	}
	f.set = func(text string) (err error) {
		*into, err = strconv.ParseBool(text)
		return err
	}
	return f
}

// TruthOrNone is [Truth] for a key whose absence is a third value: then *into is nil.
func TruthOrNone(name string, into **bool, what string) *Flag {
	f := Truth(name, nil, what)
	f.get, f.set = nil, nil
	f.decode = func(d *Decoder, n *yaml.Node, path string) {
		v, _ := d.truth(n, path)
		*into = &v
	}
	return f
}

// Default is the value where the text states none.
func (f *Flag) Default(otherwise bool) *Flag { return f.DefaultOf(func() bool { return otherwise }) }

// DefaultOf is [Value.DefaultOf].
func (f *Flag) DefaultOf(otherwise func() bool) *Flag {
	f.fills = append(f.fills, func(s *Source, path string) {
		if !s.Has(path) {
			*f.into = otherwise()
		}
	})
	return f
}

// Check is [Value.Check].
func (f *Flag) Check(check func(s *Source, path string, v bool)) *Flag {
	f.checks = append(f.checks, func(s *Source, path string) { check(s, path, *f.into) })
	return f
}

// Row declares a key with a value of any other form.
type Row struct{ row }

// Instant declares an instant with its zone.
func Instant(name string, into *time.Time, what string) *Row {
	r := Custom(name, TextForm, what, func(d *Decoder, n *yaml.Node, path string) {
		if v, ok := d.instant(n, path); ok {
			*into = v
		}
	})
	get := func() any {
		if into.IsZero() {
			return nil
		}
		return into.Format(time.RFC3339)
	}
	return r.Option(get, func(text string) (err error) {
		*into, err = time.Parse(time.RFC3339, text)
		return err
	})
}

// WholeOrNone declares a whole number whose absence is a value of its own: then *into is nil.
func WholeOrNone(name string, into **int, what string) *Row {
	return Custom(name, WholeForm, what, func(d *Decoder, n *yaml.Node, path string) {
		v, _ := d.whole(n, path)
		*into = &v
	})
}

// Texts declares a list of at most most texts. A stated list replaces the one before.
func Texts(name string, into *[]string, most int, what string) *Row {
	r := Custom(name, TextForm, what, func(d *Decoder, n *yaml.Node, path string) {
		*into = nil
		d.Each(n, path, most, func(n *yaml.Node, path string) { *into = append(*into, d.Text(n, path)) })
	})
	r.list = true
	get := func() any {
		if len(*into) == 0 {
			return nil
		}
		return *into
	}
	return r.Option(get, func(text string) error {
		*into = append(*into, text)
		return nil
	})
}

// Custom declares a key that decode decodes.
func Custom(name string, form Form, what string, decode func(d *Decoder, n *yaml.Node, path string)) *Row {
	return &Row{row{name: name, what: what, form: form, decode: decode}}
}

// Into declares a mapping with the keys rows(into). Its defaults and checks apply whether it is stated or not.
func Into[T any](name string, into *T, rows func(*T) []Key, what string) *Row {
	there := func() []Key { return rows(into) }
	return mapping(name, what, func() []Key { return rows(new(T)) }, there, there)
}

// Optional declares a mapping that may be absent; then *into is nil, and no defaults or checks apply.
func Optional[T any](name string, into **T, rows func(*T) []Key, what string) *Row {
	begin := func() []Key {
		*into = new(T)
		return rows(*into)
	}
	there := func() []Key {
		if *into == nil {
			return nil
		}
		return rows(*into)
	}
	return mapping(name, what, func() []Key { return rows(new(T)) }, begin, there)
}

// mapping declares a mapping. of returns its keys for the schema, bound to nothing. begin returns them for decoding,
// and there for defaults and checks, bound to the decoded value.
func mapping(name, what string, of, begin, there func() []Key) *Row {
	r := Custom(name, MappingForm, what, func(d *Decoder, n *yaml.Node, path string) { d.Mapping(n, path, begin()) })
	r.of = of
	r.within = func(path string) []bound { return []bound{{path, there()}} }
	r.fills = append(r.fills, func(s *Source, path string) { Fill(s, path, there()) })
	r.checks = append(r.checks, func(s *Source, path string) { Check(s, path, there()) })
	return r
}

// List declares a list of at most most mappings. Each begins as the zero value.
func List[T any](name string, into *[]T, most int, rows func(*T) []Key, what string) *Row {
	return ListFrom(name, into, most, func() (zero T) { return zero }, rows, what)
}

// ListFrom is [List] with the value that each mapping begins with.
func ListFrom[T any](name string, into *[]T, most int, begin func() T, rows func(*T) []Key, what string) *Row {
	return list(name, what, most, func() []Key { return rows(new(T)) }, func(i int) []Key {
		if i == len(*into) { // the next one
			*into = append(*into, begin())
		}
		return rows(&(*into)[i])
	}, func() int { return len(*into) }, func() { *into = nil })
}

// list declares a list of mappings with the keys of. at(i) returns the keys of the i-th mapping, and makes it when it
// is the one after the last.
func list(name, what string, most int, of func() []Key, at func(i int) []Key, count func() int, empty func()) *Row {
	r := Custom(name, MappingForm, what, func(d *Decoder, n *yaml.Node, path string) {
		empty()
		d.Each(n, path, most, func(n *yaml.Node, path string) { d.Mapping(n, path, at(count())) })
	})
	r.list, r.of = true, of
	r.within = func(path string) (all []bound) {
		for i := range count() {
			all = append(all, bound{Element(path, i), at(i)})
		}
		return all
	}
	each := func(do func(*Source, string, []Key)) func(*Source, string) {
		return func(s *Source, path string) {
			for i := range count() {
				do(s, Element(path, i), at(i))
			}
		}
	}
	r.fills, r.checks = append(r.fills, each(Fill)), append(r.checks, each(Check))
	return r
}

// Required marks the key as required in the schema.
func (r *Row) Required() *Row {
	r.required = true
	return r
}

// List says that the value is a list of its form.
func (r *Row) List() *Row {
	r.list = true
	return r
}

// Of sets the keys of the mapping that the value is or may be.
func (r *Row) Of(of func() []Key) *Row {
	r.of = of
	return r
}

// Option makes the key an option of a command. get returns the value as it is written, nil for none; set reads it from
// the text of an option.
func (r *Row) Option(get func() any, set func(text string) error) *Row {
	r.get, r.set = get, set
	return r
}

// Enum sets the allowed texts for the schema and the reference. It checks nothing.
func (r *Row) Enum(allowed ...string) *Row {
	r.enum = allowed
	return r
}

// Implied says what holds where the text states no value. It fills in nothing: see [Row.Fill].
func (r *Row) Implied(text string) *Row {
	r.implied = text
	return r
}

// Late makes the key the last of its mapping in every step, after those that its value depends on.
func (r *Row) Late() *Row {
	r.late = true
	return r
}

// Unchecked leaves out the checks of the mapping's own keys. Whether they apply depends on other values; the caller
// calls [Check] when they do.
func (r *Row) Unchecked() *Row {
	r.checks = nil
	return r
}

// Fill adds a default: f sets what the text does not state.
func (r *Row) Fill(f func(s *Source, path string)) *Row {
	r.fills = append(r.fills, f)
	return r
}

// Check adds a check of the value. f adds its faults at path.
func (r *Row) Check(f func(s *Source, path string)) *Row {
	r.checks = append(r.checks, f)
	return r
}

// Decode reads the node n as a mapping with the given keys. lookup finds variables, as [os.LookupEnv] does.
func Decode(s *Source, lookup func(string) (string, bool), n *yaml.Node, keys []Key) {
	d := &Decoder{s, lookup}
	d.Mapping(n, "", keys)
}

// Mapping decodes a mapping with the given keys.
func (d *Decoder) Mapping(n *yaml.Node, path string, keys []Key) {
	values := d.values(n, path, Names(keys))
	inOrder(keys, func(r *row) {
		if n, ok := values[r.name]; ok {
			r.decode(d, n, Join(path, r.name))
		}
	})
}

// Fill fills in what the text of a mapping does not state.
func Fill(s *Source, path string, keys []Key) {
	inOrder(keys, func(r *row) { r.fill(s, Join(path, r.name)) })
}

// Check checks the values of a mapping.
func Check(s *Source, path string, keys []Key) {
	inOrder(keys, func(r *row) { r.check(s, Join(path, r.name)) })
}

// inOrder calls do with the declarations, the late ones last.
func inOrder(keys []Key, do func(*row)) {
	for _, late := range []bool{false, true} {
		for _, k := range keys {
			if r := k.declared(); r.late == late {
				do(r)
			}
		}
	}
}

// Names returns the names of the keys.
func Names(keys []Key) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.declared().name
	}
	return all
}

// Within tells whether least <= v <= most, and adds a fault if not.
func Within[T cmp.Ordered](s *Source, path string, v, least, most T, show func(T) string) bool {
	if v >= least && v <= most {
		return true
	}
	s.Fault(path, s.Missing(path, show(v), show(least)+" to "+show(most)), "")
	return false
}

// Span renders a duration without units of zero: 12h, not 12h0m0s.
func Span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// WithinWhole is [Within] for whole numbers.
func WithinWhole(s *Source, path string, v, least, most int) bool {
	return Within(s, path, v, least, most, strconv.Itoa)
}
