// Values of the Query protocol by reflection: forms into request structs, result structs into XML.

package protocol

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// wire is the name of a field in the Query protocol: that of its query tag, otherwise that of JSON. For
// a map the tag also names keys and values: "Attribute,Name,Value" stands for Attribute.1.Name and
// Attribute.1.Value.
type wire struct {
	name, key, value string
	omitEmpty        bool
}

// wireOf reads the tags of a field.
func wireOf(f reflect.StructField) wire {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	w := wire{name: cmp.Or(name, f.Name), omitEmpty: options == "omitempty"}
	if tag := f.Tag.Get("query"); tag != "" {
		parts := strings.Split(tag, ",")
		w.name = parts[0]
		if len(parts) == 3 {
			w.key, w.value = parts[1], parts[2]
		}
	}
	return w
}

// decode fills in into, a pointer to a struct. Unknown parameters are ignored.
func (p *parameter) decode(into any) error {
	return p.fields(reflect.ValueOf(into).Elem())
}

// fields fills in the fields of a struct, those of embedded structs included.
func (p *parameter) fields(v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		var err error
		if field.Anonymous {
			err = p.fields(v.Field(i))
		} else if w := wireOf(field); p.children[w.name] != nil {
			err = p.children[w.name].into(v.Field(i), w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// into sets one value. A name without a value of its own, as Attribute in Attribute.1.Name, sets no
// plain value.
func (p *parameter) into(v reflect.Value, w wire) error {
	switch v.Kind() {
	case reflect.Struct:
		return p.fields(v)
	case reflect.Map:
		return p.pairs(v, w)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return p.list(v, w)
		}
	}
	if !p.given {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return p.into(v.Elem(), w)
	case reflect.String:
		v.SetString(p.value)
	case reflect.Int:
		n, err := strconv.Atoi(p.value)
		if err != nil {
			return Malformed("The parameter %s must be a whole number; found %s.", w.name, Quote(p.value))
		}
		v.SetInt(int64(n))
	case reflect.Slice:
		b, err := base64.StdEncoding.DecodeString(p.value)
		if err != nil {
			return Malformed("The parameter %s must be base 64.", w.name)
		}
		v.SetBytes(b)
	}
	return nil
}

// numbered returns the children whose names are numbers, in order. Gaps are allowed, as at AWS.
func (p *parameter) numbered() []*parameter {
	byNumber := map[int]*parameter{}
	for name, child := range p.children {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			byNumber[n] = child
		}
	}
	var out []*parameter
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		out = append(out, byNumber[n])
	}
	return out
}

// list fills in a slice from numbered children.
func (p *parameter) list(v reflect.Value, w wire) error {
	for _, child := range p.numbered() {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := child.into(element, w); err != nil {
			return err
		}
		v.Set(reflect.Append(v, element))
	}
	return nil
}

// pairs fills in a map from numbered children. A missing value is the zero value, a missing key an
// error.
func (p *parameter) pairs(v reflect.Value, w wire) error {
	v.Set(reflect.MakeMap(v.Type()))
	for _, child := range p.numbered() {
		key := child.children[w.key]
		if key == nil {
			return Missing(w.name + ".n." + w.key)
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if value := child.children[w.value]; value != nil {
			if err := value.into(element, wire{name: w.name}); err != nil {
				return err
			}
		}
		v.SetMapIndex(reflect.ValueOf(key.value), element)
	}
	return nil
}

// writeMembers writes the fields of a result, a struct, as elements. Lists and maps have no enclosing
// element.
func writeMembers(b *bytes.Buffer, result any) { writeFields(b, reflect.ValueOf(result)) }

// writeFields writes the fields of a struct, without empty ones that are marked omitempty.
func writeFields(b *bytes.Buffer, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			writeFields(b, v.Field(i))
			continue
		}
		if w := wireOf(field); !w.omitEmpty || !v.Field(i).IsZero() {
			writeValue(b, w, v.Field(i))
		}
	}
}

// writeValue writes one value. Maps are written in the order of their keys, so that equal results give
// equal bytes.
func writeValue(b *bytes.Buffer, w wire, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			writeValue(b, w, v.Elem())
		}
	case reflect.String:
		writeElement(b, w.name, v.String())
	case reflect.Int, reflect.Int64:
		writeElement(b, w.name, strconv.FormatInt(v.Int(), 10))
	case reflect.Bool:
		writeElement(b, w.name, strconv.FormatBool(v.Bool()))
	case reflect.Struct:
		b.WriteString("<" + w.name + ">")
		writeFields(b, v)
		b.WriteString("</" + w.name + ">")
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			writeElement(b, w.name, base64.StdEncoding.EncodeToString(v.Bytes()))
			return
		}
		for i := range v.Len() {
			writeValue(b, w, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			b.WriteString("<" + w.name + ">")
			writeElement(b, w.key, key.String())
			writeValue(b, wire{name: w.value}, v.MapIndex(key))
			b.WriteString("</" + w.name + ">")
		}
	}
}

// writeElement writes an element with escaped text.
func writeElement(b *bytes.Buffer, name, text string) {
	b.WriteString("<" + name + ">")
	xml.EscapeText(b, []byte(text)) // a buffer returns no errors
	b.WriteString("</" + name + ">")
}
