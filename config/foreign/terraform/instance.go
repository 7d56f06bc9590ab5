package terraform

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"go.yaml.in/yaml/v4"
)

// This file finds the instances of resources and calls, for count and for_each.

// instance is one resource as Terraform would make it: one for each of count or for_each.
type instance struct {
	*resource
	// address is the address in Terraform, with the keys of count and for_each.
	address string
	// context has count.index, or each.key and each.value, on top of the module's names.
	context *hcl.EvalContext
}

// placedInstance is an instance with its place in the text.
type placedInstance struct {
	instance
	// at is the place of the resource's block.
	at *yaml.Node
}

// instantiate finds the instances of all resources that are read, and what expressions see of them.
func (e *evaluation) instantiate(root *hcl.EvalContext) {
	// Notes of an earlier round are dropped: what it did not know, this round may.
	e.instances, e.notes, e.noted = nil, nil, map[string]bool{} // what an earlier round could not tell, this one may
	// The results of called modules stay until those are evaluated again, after the resources.
	objects := map[string]map[string]cty.Value{"module": e.objects["module"]}
	for _, r := range e.resources {
		if _, ok := kinds()[r.kind]; !ok {
			continue
		}
		of, made := e.instancesOf(r, r.address(), r.block.Body, root)
		var values []cty.Value
		for i := range of {
			values = append(values, e.seen(of[i]))
			e.instances = append(e.instances, placedInstance{of[i], place(r.block.DefRange())})
		}
		if objects[r.key()] == nil {
			objects[r.key()] = map[string]cty.Value{}
		}
		objects[r.key()][r.name] = made(values)
	}
	e.objects = objects
}

// instancesOf returns the instances of a resource or a call, and a function that combines their values into what a
// reference sees: one object, a list for count, an object by key for for_each. When the number is not known, one
// instance stands for all, with a note if that could change what scales.
func (e *evaluation) instancesOf(
	r *resource, address string, body *hclsyntax.Body, root *hcl.EvalContext,
) (all []instance, made func([]cty.Value) cty.Value) {
	add := func(suffix, word string, value map[string]cty.Value) {
		context := root.NewChild()
		context.Variables = map[string]cty.Value{word: object(value)}
		all = append(all, instance{r, e.prefix + address + suffix, context})
	}
	// Without count and for_each a reference sees the object itself.
	one := func(v []cty.Value) cty.Value { return v[0] }
	if a := body.Attributes["count"]; a != nil {
		v, marks := e.value(a.Expr, root).Unmark()
		// A number with a doubt is not known, even if it has a value that stands in for it.
		if n, ok := whole(v); ok && len(marks) == 0 && n <= maxInstances {
			for i := range n {
				add(fmt.Sprintf("[%d]", i), "count", map[string]cty.Value{"index": cty.NumberIntVal(int64(i))})
			}
			return all, cty.TupleVal
		}
		if matters(r) {
			e.note(a.SrcRange, "the count of %s cannot be determined%s; one stands for it. "+
				"What terraform show -json prints tells all", address, because(marks))
		}
		add("", "count", map[string]cty.Value{"index": cty.NumberIntVal(0)})
		return all, func(v []cty.Value) cty.Value { return cty.TupleVal(v) }
	}
	if a := body.Attributes["for_each"]; a != nil {
		v, marks := collection(e.value(a.Expr, root))
		if len(doubtsOf(marks)) == 0 && v.CanIterateElements() && v.LengthInt() <= maxInstances {
			// Keys are kept in the order of the elements, which Terraform sorts.
			keys := []string{}
			for it := v.ElementIterator(); it.Next(); {
				k, value := it.Element()
				// The elements of a set are their own keys.
				if v.Type().IsSetType() {
					k = value
				}
				if k.Type() != cty.String || !k.IsKnown() || k.IsNull() {
					break
				}
				keys = append(keys, k.AsString())
				add(fmt.Sprintf("[%q]", k.AsString()), "each", map[string]cty.Value{"key": k, "value": value})
			}
			// References name an instance by its key.
			return all, func(values []cty.Value) cty.Value {
				by := map[string]cty.Value{}
				for i, k := range keys {
					by[k] = values[i]
				}
				return object(by)
			}
		}
		why := address + " has one for each of what cannot be determined" + because(marks)
		if matters(r) {
			e.note(a.SrcRange, "%s; one stands for all. What terraform show -json prints tells all", why)
		}
		add(
			"", "each",
			map[string]cty.Value{
				"key":   missing("each.key", why),
				"value": cty.DynamicVal.Mark(doubt{name: "value", why: why}),
			},
		)
		return all, one
	}
	add("", "self", map[string]cty.Value{})
	return all, one
}

// matters tells whether the number of instances changes what scales: that of policies, groups, queues and called
// modules (nil) does.
func matters(r *resource) bool {
	if r == nil {
		return true
	}
	_, scales := scalingKinds()[r.kind]
	return scales || r.kind == "aws_autoscaling_group" || r.kind == "aws_sqs_queue"
}

// collection takes the marks off a value that is iterated: a doubt about an element says nothing about their number.
// The result is unknown when the number is. The elements of a set are compared by value, so a doubt about one is one
// about the number.
func collection(v cty.Value) (cty.Value, cty.ValueMarks) {
	bare, marks := v.Unmark()
	if bare.Type().IsSetType() {
		bare, marks = v.UnmarkDeep()
	}
	if bare.IsNull() || !bare.IsKnown() || bare.Type().IsPrimitiveType() {
		return cty.DynamicVal, marks
	}
	return bare, marks
}

// typed converts a value to the type of its variable, which fills in defaults and null for absent attributes. A value
// that does not fit, because something stands in for an unknown part, is returned as it is.
func (e *evaluation) typed(name string, v cty.Value) cty.Value {
	x := e.types[name]
	if x == nil {
		return v
	}
	t, defaults, diagnostics := typeexpr.TypeConstraintWithDefaults(x)
	if diagnostics.HasErrors() || t == cty.DynamicPseudoType {
		return v
	}
	// Defaults of object attributes are applied before the conversion, which would refuse missing ones.
	with := v
	if defaults != nil && !v.IsNull() {
		bare, marks := v.Unmark()
		with = defaults.Apply(bare).WithMarks(marks)
	}
	if converted, err := convert.Convert(with, t); err == nil {
		return converted
	}
	return v
}

// seen returns what expressions see of an instance: its arguments, and values that are not known for everything that
// the provider computes.
func (e *evaluation) seen(i instance) cty.Value {
	all := map[string]cty.Value{}
	for name := range e.attributes {
		// The doubt names the attribute, so that its node becomes a reference to this very instance.
		d := doubt{
			name:      name,
			why:       i.address + "." + name + " is known once it is made",
			address:   i.address,
			attribute: name,
		}
		d.text = "${" + i.address + "." + name + "}"
		all[name] = cty.StringVal(d.text).Mark(d)
	}
	// What is stated replaces what is only known later.
	for name, a := range i.block.Body.Attributes {
		all[name] = e.value(a.Expr, i.context)
	}
	if name := idOf(i.kind); name != "" && i.block.Body.Attributes[name] != nil {
		all["id"] = all[name]
	}
	return object(all)
}

// idOf returns the argument that is also the id of a resource; empty when the id is made by AWS.
func idOf(kind string) string {
	switch kind {
	case "aws_autoscaling_group", "aws_autoscaling_policy":
		return "name"
	case "aws_appautoscaling_target":
		return "resource_id"
	}
	return ""
}
