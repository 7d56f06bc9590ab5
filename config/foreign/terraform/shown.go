package terraform

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file reads plans and states. Source: the Terraform documentation, "JSON Output Format".

// Shown reads what terraform show -json prints of a state or a plan; it is false for any other document. Names and
// ARNs that a plan does not know yet become references to the resources that they will come from: the configuration
// in the plan says which.
func Shown(root *yaml.Node) (Template, bool) {
	// A plan has the values that it will make, a state has those that exist.
	values := nodes.Or(nodes.Get(root, "planned_values"), nodes.Get(root, "values"))
	// An empty state has a version of Terraform and no modules.
	if nodes.Get(root, "format_version") == nil ||
		nodes.Get(values, "root_module") == nil && nodes.Get(root, "terraform_version") == nil {
		return Template{}, false
	}
	// References are collected from the configuration, instances from the values; then both are joined.
	s := shown{
		renamer:    renamer{words: map[string]string{}},
		references: map[string]*yaml.Node{},
		instances:  map[string][]string{},
	}
	s.configured(nodes.At(root, "configuration", "root_module"), "", 0)
	// All addresses are collected first, because references may go forward.
	s.count(nodes.Get(values, "root_module"), 0)
	resources := nodes.Mapping(root)
	s.module(resources, nodes.Get(values, "root_module"), 0)
	template := nodes.Mapping(root)
	nodes.Set(template, "Resources", resources)
	return Template{Root: template, Words: s.words}, true
}

// shown is a plan or a state while it is read.
type shown struct {
	renamer
	// references are the expressions of the configuration of a plan, by address without keys.
	references map[string]*yaml.Node
	// instances are the addresses with keys, by address without keys.
	instances map[string][]string
}

// maxModules is how deep modules may call each other.
const maxModules = 30

// configured collects the expressions of a module of the configuration.
func (s *shown) configured(module *yaml.Node, prefix string, depth int) {
	if depth > maxModules {
		return
	}
	for _, r := range nodes.Elements(nodes.Get(module, "resources")) {
		s.references[prefix+nodes.Plain(nodes.Get(r, "address"))] = nodes.Get(r, "expressions")
	}
	nodes.Pairs(nodes.Get(module, "module_calls"), func(name, call *yaml.Node) {
		s.configured(nodes.Get(call, "module"), prefix+"module."+name.Value+".", depth+1)
	})
}

// count collects the addresses of all resources.
func (s *shown) count(module *yaml.Node, depth int) {
	if depth > maxModules {
		return
	}
	for _, r := range nodes.Elements(nodes.Get(module, "resources")) {
		address := nodes.Plain(nodes.Get(r, "address"))
		s.instances[bare(address)] = append(s.instances[bare(address)], address)
	}
	for _, child := range nodes.Elements(nodes.Get(module, "child_modules")) {
		s.count(child, depth+1)
	}
}

// bare returns an address without the keys of count and for_each. A key may contain brackets in quotes.
func bare(address string) string {
	var b strings.Builder
	depth, quoted := 0, false
	for _, r := range address {
		switch {
		// Brackets in quotes belong to a key.
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// keyOf returns the brackets at the end of an address; empty for none.
func keyOf(address string) string {
	if i := strings.LastIndexByte(address, '['); i >= 0 && strings.HasSuffix(address, "]") {
		return address[i:]
	}
	return ""
}

// module adds the resources of a module and of the modules that it calls.
func (s *shown) module(into, module *yaml.Node, depth int) {
	if depth > maxModules {
		return
	}
	for _, r := range nodes.Elements(nodes.Get(module, "resources")) {
		// Types that are not read are skipped, and so are resources without values.
		k, ok := kinds()[nodes.Plain(nodes.Get(r, "type"))]
		values := nodes.Get(r, "values")
		if !ok || values == nil {
			continue
		}
		address := nodes.Plain(nodes.Get(r, "address"))
		s.refer(address, values)
		nodes.Set(into, address, s.resource(k, nodes.Get(r, "address"), values))
	}
	for _, child := range nodes.Elements(nodes.Get(module, "child_modules")) {
		s.module(into, child, depth+1)
	}
}

// refer replaces values that a plan does not know yet by references.
func (s *shown) refer(address string, values *yaml.Node) {
	nodes.Pairs(s.references[bare(address)], func(key, expression *yaml.Node) {
		// A value that the plan knows is better than a reference.
		if v := nodes.Get(values, key.Value); v != nil && v.Tag != "!!null" {
			return
		}
		var all []*yaml.Node
		for _, reference := range nodes.Elements(nodes.Get(expression, "references")) {
			if n := s.reference(address, reference, key); n != nil {
				all = append(all, n)
			}
		}
		if len(all) == 0 {
			return
		}
		value := all[0]
		// Actions of an alarm are a list, so all references count; otherwise the first does.
		if strings.HasSuffix(key.Value, "_actions") {
			value = nodes.List(key, all...)
		}
		drop(values, key.Value, func(string) bool { return true })
		nodes.Set(values, key.Value, value)
	})
}

// reference returns the attribute of a resource that a reference such as type.name.attribute names; nil for another
// reference. Of several instances it is the one with the same key.
func (s *shown) reference(from string, n, at *yaml.Node) *yaml.Node {
	words := strings.Split(bare(nodes.Plain(n)), ".")
	// The first word becomes "data.TYPE", so that both kinds of references have the same form.
	if words[0] == "data" {
		words[0] += "." + strings.Join(words[1:min(2, len(words))], "")
		words = append(words[:1], words[min(2, len(words)):]...)
	}
	if len(words) < 3 || words[0] == "var" || words[0] == "local" || words[0] == "module" {
		return nil
	}
	all := s.instances[modules(bare(from))+words[0]+"."+words[1]]
	if len(all) == 0 {
		return nil
	}
	// An instance usually refers to the instance with its own key; without one, the first stands in.
	to := all[0]
	for _, one := range all {
		if keyOf(one) == keyOf(from) {
			to = one
		}
	}
	return nodes.Attribute(at, to, propertyOf(words[2]))
}

// modules returns the part of an address without keys that names modules, with its last dot.
func modules(address string) string {
	parts := strings.Split(address, ".")
	n := 0
	for n+1 < len(parts) && parts[n] == "module" {
		n += 2
	}
	if n == 0 {
		return ""
	}
	return strings.Join(parts[:n], ".") + "."
}
