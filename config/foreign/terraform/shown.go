package terraform

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// Shown reads what terraform show -json prints of a state or of a plan. It is false for anything else. What a plan does
// not know yet, names and ARNs, it refers to: the configuration that it holds says of which resource.
func Shown(root *yaml.Node) (Template, bool) {
	values := nodes.Or(nodes.Get(root, "planned_values"), nodes.Get(root, "values"))
	if nodes.Get(root, "format_version") == nil ||
		nodes.Get(values, "root_module") == nil && nodes.Get(root, "terraform_version") == nil {
		return Template{}, false
	}
	s := shown{
		renamer:    renamer{words: map[string]string{}},
		references: map[string]*yaml.Node{},
		instances:  map[string][]string{},
	}
	s.configured(nodes.At(root, "configuration", "root_module"), "", 0)
	s.count(nodes.Get(values, "root_module"), 0)
	resources := nodes.Mapping(root)
	s.module(resources, nodes.Get(values, "root_module"), 0)
	template := nodes.Mapping(root)
	nodes.Set(template, "Resources", resources)
	return Template{Root: template, Words: s.words}, true
}

// shown is one reading of a plan or a state.
type shown struct {
	renamer
	// references are the expressions of the configuration of a plan, by the address without keys.
	references map[string]*yaml.Node
	// instances are the addresses that one without keys stands for.
	instances map[string][]string
}

// maxModules bounds how deep modules call each other.
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

// bare is an address without the keys of count and for_each.
func bare(address string) string {
	var b strings.Builder
	depth, quoted := 0, false
	for _, r := range address {
		switch {
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

// keyOf is what stands in the brackets at the end of an address.
func keyOf(address string) string {
	if i := strings.LastIndexByte(address, '['); i >= 0 && strings.HasSuffix(address, "]") {
		return address[i:]
	}
	return ""
}

// module adds the resources of a module and those of the modules that it calls.
func (s *shown) module(into, module *yaml.Node, depth int) {
	if depth > maxModules {
		return
	}
	for _, r := range nodes.Elements(nodes.Get(module, "resources")) {
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

// refer fills in what a plan does not know yet with references to the resources that it will come from.
func (s *shown) refer(address string, values *yaml.Node) {
	nodes.Pairs(s.references[bare(address)], func(key, expression *yaml.Node) {
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
		if strings.HasSuffix(key.Value, "_actions") {
			value = nodes.List(key, all...)
		}
		drop(values, key.Value, func(string) bool { return true })
		nodes.Set(values, key.Value, value)
	})
}

// reference is the attribute of a resource that a reference names, as type.name.attribute; nil for what names none.
func (s *shown) reference(from string, n, at *yaml.Node) *yaml.Node {
	words := strings.Split(bare(nodes.Plain(n)), ".")
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
	to := all[0]
	for _, one := range all {
		if keyOf(one) == keyOf(from) {
			to = one
		}
	}
	return nodes.Attribute(at, to, propertyOf(words[2]))
}

// modules is the part of an address without keys that names modules.
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
