package keys

import (
	"fmt"
	"strings"
)

// Reference renders the keys of a configuration as tables in Markdown, one for each mapping, with the form and the
// description of each key. The title of the first table is name.
func Reference(name string, keys []Key) string {
	var b strings.Builder
	referTo(&b, name, keys, map[string]bool{})
	return b.String()
}

// referTo renders a mapping and those within it. The same mapping is rendered once, wherever it may stand.
func referTo(b *strings.Builder, name string, keys []Key, done map[string]bool) {
	fmt.Fprintf(b, "\n## %s\n\n| key | value | what |\n|---|---|---|\n", name)
	type inner struct {
		name string
		keys []Key
	}
	var within []inner
	for _, k := range keys {
		r := k.declared()
		required := ""
		if r.required {
			required = ", required"
		}
		fmt.Fprintf(b, "| `%s` | %s%s | %s |\n", r.name, r.words(), required, strings.ReplaceAll(r.what, "|", `\|`))
		if r.of == nil {
			continue
		}
		keys := r.of()
		if print := r.name + ": " + strings.Join(Names(keys), ","); !done[print] {
			done[print] = true
			within = append(within, inner{Join(strings.TrimPrefix(name, "The file"), r.name), keys})
		}
	}
	for _, w := range within {
		referTo(b, w.name, w.keys, done)
	}
}

// words returns the form of the value for the table.
func (r *row) words() string {
	words := string(r.form)
	switch {
	case r.enum != nil && r.form == NamedForm:
		words = "a policy's name, or a mapping"
	case r.enum != nil:
		words = "`" + strings.Join(r.enum, "`, `") + "`"
	}
	if r.list {
		words = "list of: " + words
	}
	return words
}
