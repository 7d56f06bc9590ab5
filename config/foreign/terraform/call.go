package terraform

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file evaluates modules that a module calls.

// called evaluates the modules that are called and whose files are there, with the arguments of each call, and keeps
// their outputs for the expressions of the caller. Instances that existed in the round before are continued, not
// begun anew, so that rounds of caller and called module converge together.
func (e *evaluation) called(root *hcl.EvalContext) {
	before := e.children
	e.children = map[string]*evaluation{}
	outputs := map[string]cty.Value{}
	for _, call := range e.calls {
		m, directory := e.moduleOf(call, root)
		if m == nil {
			e.unread(call, root)
			continue
		}
		// Calls may have count and for_each, just like resources.
		all, made := e.instancesOf(nil, "module."+call.Labels[0], call.Body, root)
		var values []cty.Value
		for _, i := range all {
			// A called module keeps what earlier rounds found out, and gets the arguments of this one.
			child := before[i.address]
			if child == nil {
				child = newEvaluation(m, directory, e.directories)
				child.prefix, child.left = i.address+".", e.left
			}
			child.arguments = map[string]cty.Value{}
			for name, a := range call.Body.Attributes {
				// Other arguments are Terraform's own, such as providers, or a fault of the caller's.
				if _, is := m.variables[name]; is && name != "source" {
					child.arguments[name] = e.value(a.Expr, i.context)
				}
			}
			child.settle()
			e.children[i.address] = child
			// Every instance of a call has results of its own.
			values = append(values, child.result("module."+call.Labels[0], e.attributes))
		}
		outputs[call.Labels[0]] = made(values)
	}
	e.objects["module"] = outputs
}

// moduleOf returns the module that a call names by its directory, and the directory; nil for a module of a registry,
// one that is not there, or a call that is nested too deep.
func (e *evaluation) moduleOf(call *hclsyntax.Block, root *hcl.EvalContext) (m *module, directory string) {
	source := e.source(call, root)
	// Only local modules have their files here.
	if !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") ||
		strings.Count(e.prefix, "module.") >= maxCalls {
		return nil, ""
	}
	directory = path.Join(e.directory, source)
	// A module that calls itself would never end.
	if directory == e.directory {
		return nil, ""
	}
	return e.directories[directory], directory
}

// source returns the source of a call; empty when it is not stated.
func (e *evaluation) source(call *hclsyntax.Block, root *hcl.EvalContext) string {
	a := call.Body.Attributes["source"]
	if a == nil {
		return ""
	}
	text, _ := plain(e.value(a.Expr, root))
	return text
}

// result returns what a caller sees of a module: its outputs, and values that are not known for all other names that
// anyone asks for.
func (e *evaluation) result(reference string, asked map[string]bool) cty.Value {
	root := e.root()
	all := map[string]cty.Value{}
	// Names that no output has are offered too, so that a reference to one is unknown and not a failure.
	for name := range asked {
		all[name] = missing(reference+"."+name, "the module has no output "+name)
	}
	for name, x := range e.outputs {
		all[name] = e.value(x, root)
	}
	return object(all)
}

// unread adds a note for a module that is not read, if its source or its arguments say that it scales something.
func (e *evaluation) unread(call *hclsyntax.Block, root *hcl.EvalContext) {
	source := e.source(call, root)
	// Most modules have nothing to do with scaling, and a note for each would bury the others.
	scales := strings.Contains(source, "scal")
	for name := range call.Body.Attributes {
		scales = scales || strings.Contains(name, "scal") || strings.Contains(name, "min_capacity") ||
			strings.Contains(name, "max_capacity") ||
			name == "min_size" ||
			name == "max_size"
	}
	if scales {
		e.note(
			call.DefRange(),
			"the module %s (%s) is not read: its files are not here. terraform show -json of a plan or a state "+
				"prints the resources of all modules",
			call.Labels[0], source,
		)
	}
}

// templateOf adds the resources of a module and of the modules that it calls to a template, and returns the notes.
func (e *evaluation) templateOf(t *renamer, into *yaml.Node) (notes nodes.Notes) {
	for _, i := range e.instances {
		if kind, ok := kinds()[i.kind]; ok {
			nodes.Set(into, i.address, t.resource(kind, i.at, e.body(i.block.Body, i.context)))
		}
	}
	notes = e.notes
	for _, address := range slices.Sorted(maps.Keys(e.children)) {
		notes = append(notes, e.children[address].templateOf(t, into)...)
	}
	return notes
}
