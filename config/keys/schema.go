package keys

// Schema returns the JSON schema (draft 2020-12) of a mapping with the given keys. It knows types, required keys and
// allowed texts. Ranges, and rules between values, are left to [Check].
func Schema(keys []Key) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, k := range keys {
		r := k.declared()
		properties[r.name] = r.schema()
		if r.required {
			required = append(required, r.name)
		}
	}
	o := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// schema returns the schema of one key with its description.
func (r *row) schema() map[string]any {
	s := r.value()
	if r.list {
		s = map[string]any{"type": "array", "items": s}
	}
	s["description"] = r.what
	return s
}

// value returns the schema of the value, or of one element of a list. A text may be a variable, so a duration also
// allows ${...}.
func (r *row) value() map[string]any {
	text := map[string]any{"type": "string"}
	if r.enum != nil {
		text["enum"] = r.enum
	}
	anyOf := func(all ...any) map[string]any { return map[string]any{"anyOf": all} }
	pattern := func(p string) map[string]any { return map[string]any{"type": "string", "pattern": p} }
	switch r.form {
	case WholeForm:
		return map[string]any{"type": "integer"}
	case TruthForm:
		return map[string]any{"type": "boolean"}
	case NumberForm:
		return map[string]any{"type": "number"}
	case MappingForm:
		return Schema(r.of())
	case NamedForm:
		return anyOf(text, Schema(r.of()))
	case DurationForm:
		return anyOf(pattern(`^([0-9.]+(ns|us|µs|ms|s|m|h))+$|\$\{`), map[string]any{"const": 0})
	case ShareForm:
		return anyOf(map[string]any{"type": "integer"}, pattern(`^[0-9.]+%$`))
	case CommandForm:
		argument := map[string]any{"type": []string{"string", "number", "boolean"}}
		return anyOf(text, map[string]any{"type": "array", "items": argument, "minItems": 1})
	}
	return text
}
