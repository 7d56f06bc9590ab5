package sqsapi

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/sqsapi/internal/action"
)

// errRead stops an action once its request is read.
var errRead = errors.New("the request was read")

// requestOf is the request of an action as decode fills it in.
func requestOf(name string, decode func(into any) error) (any, error) {
	var request any
	_, err := new(action.Call).Run(action.Table[name], func(into any) error {
		request = into
		if err := decode(into); err != nil {
			return err
		}
		return errRead
	})
	if !errors.Is(err, errRead) {
		return nil, err
	}
	return request, nil
}

// names are those of a field in the Query protocol.
type names struct{ name, key, value string }

// namesOf reads them from the tags of the field, in fewer steps than the codec does.
func namesOf(f reflect.StructField) names {
	parts := strings.Split(cmp.Or(f.Tag.Get("query"), strings.Split(f.Tag.Get("json"), ",")[0], f.Name)+",,", ",")
	return names{parts[0], parts[1], parts[2]}
}

// formOf writes a request, a pointer to a struct, as an SDK of the Query
// protocol would.
func formOf(request any) url.Values {
	form := url.Values{}
	addMembers(form, "", reflect.ValueOf(request).Elem())
	return form
}

func addMembers(form url.Values, prefix string, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			addMembers(form, prefix, v.Field(i))
			continue
		}
		w := namesOf(field)
		addMember(form, prefix+w.name, w, v.Field(i))
	}
}

func addMember(form url.Values, name string, w names, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			addMember(form, name, w, v.Elem())
		}
	case reflect.String:
		form.Set(name, v.String())
	case reflect.Int:
		form.Set(name, strconv.FormatInt(v.Int(), 10))
	case reflect.Struct:
		addMembers(form, name+".", v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			form.Set(name, base64.StdEncoding.EncodeToString(v.Bytes()))
			return
		}
		for i := range v.Len() {
			addMember(form, fmt.Sprint(name, ".", i+1), w, v.Index(i))
		}
	case reflect.Map:
		for i, key := range v.MapKeys() {
			at := fmt.Sprint(name, ".", i+1, ".")
			form.Set(at+w.key, key.String())
			addMember(form, at+w.value, w, v.MapIndex(key))
		}
	}
}
