package template

import (
	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// Template is a CloudFormation or SAM template, or Terraform or output of the AWS CLI in the form of one.
type Template struct {
	// Resources are the resources by logical id.
	Resources                        *yaml.Node
	parameters, mappings, conditions *yaml.Node
	// What is how notes name the template, for example "the template".
	What string
	// Terraform is true when logical ids are addresses of Terraform.
	Terraform bool
	// Notes collect what is said about it.
	Notes *nodes.Notes
	// work counts what the whole reading costs.
	work *nodes.Work
	// indexes find resources by what they state; see indexOf.
	indexes map[string]index
	// unrolled counts the outputs of loops.
	unrolled int
}

// New returns the template with the sections of a document. Notes about it are added to notes; work counts its cost.
func New(d *yaml.Node, notes *nodes.Notes, work *nodes.Work) *Template {
	return &Template{
		parameters: nodes.Get(d, "Parameters"),
		mappings:   nodes.Get(d, "Mappings"),
		conditions: nodes.Get(d, "Conditions"),
		Resources:  nodes.Get(d, "Resources"),
		What:       "the template",
		Notes:      notes,
		work:       work,
		indexes:    map[string]index{},
	}
}

// Identity returns a text that all references to one thing share: its resource, its name or, when that is not known,
// the words of the template for it.
func (v Value) Identity(n *yaml.Node) string {
	switch {
	case v.Resource != "":
		return "resource " + v.Resource
	case v.Why != "":
		return "as " + nodes.Identity(n)
	}
	return v.Text
}

// ResourceOf returns the resource of a type that a value refers to, and its properties: by its logical id, by the
// text that it states for a property, or by the same words. An empty id means none.
func (t *Template) ResourceOf(kind, property string, v Value, n *yaml.Node) (id string, properties *yaml.Node) {
	if r := nodes.Get(t.Resources, v.Resource); r != nil && nodes.Plain(nodes.Get(r, "Type")) == kind {
		return v.Resource, nodes.Get(r, "Properties")
	}
	of := t.indexOf(kind, property)
	if v.Why == "" && v.Text != "" {
		id = of.byText[v.Text]
	}
	if id == "" && n != nil {
		id = of.byWords[nodes.Identity(n)]
	}
	return id, nodes.Get(nodes.Get(t.Resources, id), "Properties")
}

// index finds the resources of a type by what one of their properties comes to, and by the words that state it.
type index struct{ byText, byWords map[string]string }

// indexOf returns the index of a type by a property, made at the first use. The first of several equal ones counts.
func (t *Template) indexOf(kind, property string) index {
	key := kind + " " + property
	if of, made := t.indexes[key]; made {
		return of
	}
	of := index{map[string]string{}, map[string]string{}}
	t.indexes[key] = of
	add := func(all map[string]string, key, id string) {
		if _, taken := all[key]; !taken {
			all[key] = id
		}
	}
	nodes.Pairs(t.Resources, func(name, r *yaml.Node) {
		stated := nodes.Get(nodes.Get(r, "Properties"), property)
		if nodes.Plain(nodes.Get(r, "Type")) != kind || stated == nil {
			return
		}
		if own := t.Resolve(stated); own.Why == "" {
			add(of.byText, own.Text, name.Value)
		}
		add(of.byWords, nodes.Identity(stated), name.Value)
	})
	return of
}
