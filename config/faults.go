package config

import "github.com/muster-scale/muster/config/keys"

// Fault is a problem in a configuration, with its place, or a remark on it.
type Fault = keys.Fault

// Faults are all the faults of one configuration, up to a thousand, sorted by place; there is at least one.
type Faults = keys.Faults

// Suggest returns a question that names the most similar of words, or "" when none is similar: did you mean "exact"?
func Suggest(found string, words []string) string { return keys.Suggest(found, words) }

// Schema returns the JSON schema (draft 2020-12) of the configuration, for editors that complete and check while a
// person types. It comes from the declarations that decode the text, so it lists the same keys. [Parse] checks more
// than the schema can: ranges, and values that depend on other values.
func Schema(kinds Kinds) map[string]any {
	s := keys.Schema(new(Config).rows(kinds))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Muster configuration"
	return s
}

// The kinds of a [Fault].
const (
	IsFault  = keys.IsFault
	IsRemark = keys.IsRemark
)

// FaultAt returns a fault at a place of a text that is not a configuration: see [keys.FaultAt].
func FaultAt(name string, text []byte, line, column int, message, hint string) Fault {
	return keys.FaultAt(name, text, line, column, message, hint)
}

// Reference returns the page that lists all keys, in Markdown.
func Reference(kinds Kinds) string { return keys.Reference("The file", new(Config).rows(kinds)) }
