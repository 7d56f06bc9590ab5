package config

// Schema returns the JSON schema (draft 2020-12) of the configuration, for editors that complete and check as one types. It
// comes from the same table as the decoder. The decoder checks more: ranges, and what depends on other values.
func Schema() map[string]any {
	s := object(rootKeys())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Muster configuration"
	return s
}

func object(keys []key) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, k := range keys {
		properties[k.name] = k.schema()
		if k.required {
			required = append(required, k.name)
		}
	}
	o := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func (k key) schema() map[string]any {
	s := k.value()
	if k.list {
		s = map[string]any{"type": "array", "items": s}
	}
	s["description"] = k.what
	return s
}

func (k key) value() map[string]any {
	text := map[string]any{"type": "string"}
	if k.enum != nil {
		text["enum"] = k.enum
	}
	switch k.kind {
	case kindWhole:
		return map[string]any{"type": "integer"}
	case kindTruth:
		return map[string]any{"type": "boolean"}
	case kindNumber:
		return map[string]any{"type": "number"}
	case kindMapping:
		return object(k.of)
	case kindPolicy:
		return map[string]any{"anyOf": []any{text, object(k.of)}}
	case kindDuration:
		return map[string]any{"anyOf": []any{map[string]any{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|\$\{`}, map[string]any{"const": 0}}}
	case kindHeadroom:
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string", "pattern": `^[0-9.]+%$`}}}
	case kindCommand:
		argument := map[string]any{"type": []string{"string", "number", "boolean"}}
		return map[string]any{"anyOf": []any{text, map[string]any{"type": "array", "items": argument, "minItems": 1}}}
	}
	return text
}
