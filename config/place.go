package config

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
)

// placeKeys are the keys that tell where a program runs that was started with the configuration.
func placeKeys() []string { return []string{"data", "listen"} }

// LoadPlace reads no more of the file at path than where a running program is: Dir, Data and Listen. That needs no
// faultless file: what cannot be read of them is the default. fault is what [Load] says of the whole file, nil when it
// has no fault; then the configuration is whole. err says that the file cannot be read at all.
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
	if !ok {
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

// only leaves the keys of the place in a mapping.
func only(root *yaml.Node) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if slices.Contains(placeKeys(), root.Content[i].Value) {
			kept = append(kept, root.Content[i], root.Content[i+1])
		}
	}
	root.Content = kept
}

// blocks returns the lines that begin with a key of the place, with those that are indented below it. All other lines
// are empty, so that a text which is no YAML elsewhere can be read there.
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
