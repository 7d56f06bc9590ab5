package config_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config"
)

// accepts is the part of JSON schema that the configuration's schema uses.
func accepts(schema map[string]any, v any) error {
	if any, ok := schema["anyOf"].([]any); ok {
		if !slices.ContainsFunc(any,
			func(s interface{}) bool { return accepts(s.(map[string]interface{}), v) == nil }) {
			return fmt.Errorf("%v is none of %v", v, any)
		}
	}
	if c, ok := schema["const"]; ok && !reflect.DeepEqual(c, v) {
		return fmt.Errorf("%v is not %v", v, c)
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Errorf("%v is not one of %v", v, enum)
	}
	if p, ok := schema["pattern"].(string); ok {
		if s, isText := v.(string); isText && !regexp.MustCompile(p).MatchString(s) {
			return fmt.Errorf("%q does not match %s", s, p)
		}
	}
	if t, ok := schema["type"]; ok && !slices.ContainsFunc(types(t), func(t string) bool { return isType(t, v) }) {
		return fmt.Errorf("%v is no %v", v, t)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		list, _ := v.([]any)
		for i, e := range list {
			if err := accepts(items, e); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	}
	return acceptsObject(schema, v)
}

func acceptsObject(schema map[string]any, v any) error {
	properties, ok := schema["properties"].(map[string]any)
	object, isObject := v.(map[string]any)
	if !ok || !isObject {
		return nil
	}
	for name, value := range object {
		s, known := properties[name].(map[string]any)
		if !known {
			return fmt.Errorf("unknown key %s", name)
		}
		if err := accepts(s, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, there := object[name.(string)]; !there {
			return fmt.Errorf("no %s", name)
		}
	}
	return nil
}

func types(t any) (all []string) {
	if one, ok := t.(string); ok {
		return []string{one}
	}
	for _, one := range t.([]any) {
		all = append(all, one.(string))
	}
	return all
}

func isType(t string, v any) bool {
	number, isNumber := v.(float64)
	switch t {
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "string":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		return isNumber && number == math.Trunc(number)
	}
	return isNumber
}

// plain returns v as JSON has it.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func fromYAML(t *testing.T, text string) any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return plain(t, v)
}

func TestTheSchemaAcceptsWhatTheDecoderAccepts(t *testing.T) {
	schema := plain(t, config.Schema(all)).(map[string]any)
	if err := accepts(schema, fromYAML(t, config.Example())); err != nil {
		t.Errorf("the example: %v", err)
	}
	for text, ok := range map[string]bool{
		"version: 1\nfleets: [{name: a, max: 1, workers: {command: x}}]":                                       true,
		"version: 1\nfleets: [{name: a, max: 1, poll: 0, headroom: 10%, workers: {command: [x, 1]}}]":          true,
		"version: 1\nfleets: [{name: a, max: 1, polcy: exact}]":                                                false,
		"version: 1\nfleets: [{name: a, max: one}]":                                                            false,
		"version: 1\nfleets: [{name: a}]":                                                                      false,
		"version: 1\nfleets: [{name: a, max: 1, policy: exakt}]":                                               false,
		"version: 1\nfleets: [{name: a, max: 1, poll: 30}]":                                                    false,
		"version: 1\nfleets: [{name: a, max: 1, policy: {name: step, steps: [{form: 1}]}}]":                    false,
		"version: 1\nfleets: [{name: a, max: 1, price: 0.1, budget: 2, policy: {name: deadline, scale: 0.5}}]": true,
		"version: 1\nfleets: [{name: a, max: 1, budget: 2 per hour}]":                                          false,
		"version: 1\nfleets: [{name: a, max: 1, workers: {command: x}, objective: {late: 20s}}]":               true,
		"version: 1\nfleets: [{name: a, max: 1, workers: {command: x}, objective: {late: 20}}]":                false,
		"fleets: []": false,
	} {
		if err := accepts(schema, fromYAML(t, text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWhatTheSchemaRefusesTheDecoderRefuses runs the faulty configurations through both.
func TestWhatTheSchemaRefusesTheDecoderRefuses(t *testing.T) {
	schema := plain(t, config.Schema(all)).(map[string]any)
	files, _ := filepath.Glob("testdata/faults/*.yaml")
	refused := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if yaml.Unmarshal(text, &v) != nil {
			continue
		}
		out, err := json.Marshal(v)
		if err != nil {
			continue
		}
		var value any
		json.Unmarshal(out, &value)
		if accepts(schema, value) != nil {
			refused++
		}
	}
	if refused < 5 {
		t.Errorf("the schema refuses %d of %d faulty configurations: it says next to nothing", refused, len(files))
	}
}
