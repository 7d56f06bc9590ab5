package config

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
)

// placeKeys are the keys by which a command finds the running program: its directory and its addresses.
func placeKeys() []string { return []string{"data", "listen"} }

// LoadPlace reads from the file at path where the running program is: Dir, Data and Listen. A command such as muster
// status needs no more, and must work while a person edits the file. So the rest of the file may have faults, and one
// of these keys that cannot be read has its default.
//
// The error fault is what [Load] says of the whole file. When it is nil, c is the whole configuration. The error err
// says that the file cannot be read at all.
func LoadPlace(path string, kinds Kinds) (c *Config, fault, err error) {
	if c, fault = Load(path, kinds); fault == nil {
		return c, nil, nil
	}
	text, err := readFile(path)
	if err != nil {
		return nil, nil, fault
	}
	s := keys.NewSource(path, text)
	root, ok := s.Parse(text)
	if !ok { // broken YAML elsewhere in the file
		text = []byte(blocks(s.Lines()))
		s = keys.NewSource(path, text)
		root, ok = s.Parse(text)
	}
	c = &Config{}
	if ok && root.Kind == yaml.MappingNode {
		only(root)
		s = keys.NewSource(path, text)
		keys.Decode(s, os.LookupEnv, root, c.rows(kinds))
	}
	var whole Config
	keys.Fill(keys.NewSource(path, nil), "", whole.rows(kinds))
	c.Data = cmp.Or(c.Data, whole.Data)
	c.Listen.Queue, c.Listen.API = cmp.Or(c.Listen.Queue, whole.Listen.Queue), cmp.Or(c.Listen.API, whole.Listen.API)
	return c, fault, c.settle(path)
}

// only removes all keys but placeKeys from a mapping, so that faults below the others are never met.
func only(root *yaml.Node) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if slices.Contains(placeKeys(), root.Content[i].Value) {
			kept = append(kept, root.Content[i], root.Content[i+1])
		}
	}
	root.Content = kept
}

// blocks returns the lines that begin with one of placeKeys, and the lines that are indented below them. All other
// lines become empty instead of being removed, so that line numbers stay right. The result can be read even when the
// rest of the text is not YAML.
func blocks(lines []string) string {
	kept := make([]string, len(lines))
	inside := false
	for i, line := range lines {
		if key, _, ok := strings.Cut(line, ":"); ok && line != "" && !strings.ContainsRune(" \t#-", rune(line[0])) {
			inside = slices.Contains(placeKeys(), strings.TrimSpace(key))
		}
		if inside {
			kept[i] = line
		}
	}
	return strings.Join(kept, "\n")
}
