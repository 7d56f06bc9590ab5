package edit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/internal/misuse"
)

// maxSet bounds the values that one request sets.
const maxSet = 50

// Fleet changes a fleet in the text of a configuration: a policy, unless it is empty, and values of the fleet's keys as
// KEY=VALUE, where KEY may be a path such as scale_in.stabilization. It returns the whole changed text, which the
// caller must parse to find wrong values, and the changed fleet as a part of a configuration. Errors are about the
// request.
func Fleet(text, fleet, policy string, set []string) (whole []byte, part string, err error) {
	if len(set) > maxSet {
		return nil, "", misuse.Errorf("found %d values to set, at most %d are allowed", len(set), maxSet)
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) == 0 {
		return nil, "", errors.Join(errors.New("the configuration has no text that could be changed"), err)
	}
	node := fleetIn(document.Content[0], fleet)
	if node == nil {
		return nil, "", misuse.Errorf("there is no fleet %q in the text of the configuration", fleet)
	}
	if policy != "" {
		put(node, "policy", scalar(policy))
	}
	for _, pair := range set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, "", misuse.Setting("set", "found %q, write KEY=VALUE, as in max=20", pair)
		}
		parsed, err := parse(value)
		if err != nil {
			return nil, "", misuse.Setting("set", "%s: found %q, which is no value of YAML: %v", key, value, err)
		}
		if err := assign(node, strings.Split(key, "."), parsed); err != nil {
			return nil, "", misuse.Setting("set", "%s: %v", key, err)
		}
	}
	if whole, err = encode(&document); err != nil {
		return nil, "", err
	}
	alone, err := encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("fleets"),
		{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}}}})
	return whole, string(alone), err
}

// fleetIn returns the mapping of a fleet in a configuration; nil if there is none.
func fleetIn(root *yaml.Node, name string) *yaml.Node {
	fleets := valueOf(root, "fleets")
	if fleets == nil || fleets.Kind != yaml.SequenceNode {
		return nil
	}
	i := slices.IndexFunc(fleets.Content, func(n *yaml.Node) bool {
		found := valueOf(n, "name")
		return found != nil && found.Value == name
	})
	if i < 0 {
		return nil
	}
	return fleets.Content[i]
}

// valueOf returns the value of a key in a mapping; nil if it is not there.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// put sets a key of a mapping. The comment behind the old value stays.
func put(mapping *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			value.LineComment = cmp.Or(value.LineComment, mapping.Content[i+1].LineComment)
			mapping.Content[i+1] = value
			return
		}
	}
	mapping.Content = append(mapping.Content, scalar(key), value)
}

// assign sets the value at a path below a mapping, and makes the mappings on its way. A policy that is stated by its
// name alone becomes a mapping with that name.
func assign(mapping *yaml.Node, path []string, value *yaml.Node) error {
	for _, key := range path[:len(path)-1] {
		inner := valueOf(mapping, key)
		switch {
		case inner == nil:
			inner = &yaml.Node{Kind: yaml.MappingNode}
			put(mapping, key, inner)
		case inner.Kind == yaml.ScalarNode && key == "policy":
			inner = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("name"), scalar(inner.Value)}}
			put(mapping, key, inner)
		case inner.Kind != yaml.MappingNode:
			return fmt.Errorf("the value of %s is no mapping", key)
		}
		mapping = inner
	}
	put(mapping, path[len(path)-1], value)
	return nil
}

func scalar(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// parse reads a value as YAML: a number, a text, or a mapping in braces.
func parse(text string) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return scalar(""), nil
	}
	return document.Content[0], nil
}

// encode writes YAML with the indentation of the examples.
func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, fmt.Errorf("write the changed configuration: %w", err)
	}
	return b.Bytes(), e.Close()
}
